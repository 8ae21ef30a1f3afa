import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Text of source files by their path from the root of the repository, with forward slashes. */
export type Files = ReadonlyMap<string, string>;

export interface Import {
  readonly specifier: string;
  /** `type` imports vanish on compilation; `static` load at once; `dynamic` when reached. */
  readonly kind: 'type' | 'static' | 'dynamic';
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Reads the TypeScript and JavaScript files below these folders of the repository. */
export function readSources(...folders: string[]): Files {
  const paths = folders.flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map(
      (path) => `${folder}/${path.replaceAll('\\', '/')}`,
    ),
  );
  const sources = paths.filter(
    (path) => /(?<!\.d)\.[mc]?[jt]s$/.test(path) && !/\/(node_modules|dist)\//.test(path),
  );
  return new Map(sources.sort().map((path) => [path, readFileSync(root + path, 'utf8')]));
}

export function readText(path: string): string {
  return readFileSync(root + path, 'utf8');
}

/** Parses a file without its comments, which take most of the time, as links to parents do. */
export function parse(path: string, text: string, withParents = false): ts.SourceFile {
  const options = {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  };
  return ts.createSourceFile(path, text, options, withParents);
}

/** Returns every module that a file imports, in any form of import. */
export function importsOf(path: string, text: string): Import[] {
  const found: Import[] = [];
  const add = (kind: Import['kind'], node: ts.Node | undefined) => {
    if (node !== undefined && ts.isStringLiteralLike(node))
      found.push({ specifier: node.text, kind });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node))
      add(isTypeOnly(node) ? 'type' : 'static', node.moduleSpecifier);
    if (ts.isExportDeclaration(node))
      add(node.isTypeOnly ? 'type' : 'static', node.moduleSpecifier);
    if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
      add('static', node.moduleReference.expression);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add('type', node.argument.literal);
    if (ts.isCallExpression(node)) {
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword) add('dynamic', node.arguments[0]);
      if (ts.isIdentifier(node.expression) && node.expression.text === 'require')
        add('static', node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}

/** `import { type A }` counts as static, because it loads the module. */
function isTypeOnly({ importClause }: ts.ImportDeclaration): boolean {
  return importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}
