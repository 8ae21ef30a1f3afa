import ts from 'typescript';
import { parse, type Files } from './modules.js';

const FORBIDDEN = new Set(['console', 'process', 'Buffer']);
/** Only a file with such a word is searched for its uses, because the search takes long. */
const SUSPECT = /\b(?:console|process|Buffer)\b/;

/**
 * Returns each place at which library code would print, read the environment, use a Node global, or
 * run on import.
 */
export function sideEffects(files: Files): string[] {
  return [...files].flatMap(([path, text]) => {
    const isSuspect = SUSPECT.test(text);
    const source = parse(path, text, isSuspect);
    const bound = isSuspect ? boundNames(source) : new Set();
    const found = source.statements
      .filter((statement) => acts(statement))
      .map((statement) => at(statement, 'runs on import'));
    const visit = (node: ts.Node): void => {
      if (
        ts.isIdentifier(node) &&
        FORBIDDEN.has(node.text) &&
        !bound.has(node.text) &&
        isReference(node)
      )
        found.push(at(node, `uses ${node.text}`));
      if (
        ts.isPropertyAccessExpression(node) &&
        node.name.text === 'env' &&
        /process\??$/.test(node.expression.getText(source))
      )
        found.push(at(node, 'reads the environment'));
      ts.forEachChild(node, visit);
    };
    if (isSuspect) visit(source);
    return found;

    function at(node: ts.Node, what: string): string {
      return `${path}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1} ${what}`;
    }
  });
}

/**
 * Returns the names that a file defines itself: imports, and `process` taken from globalThis to
 * detect the runtime.
 */
function boundNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportSpecifier(node)) names.add(node.name.text);
    if (ts.isBindingElement(node) && ts.isIdentifier(node.name) && node.name.text === 'process')
      names.add('process');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/**
 * Tells whether a name reaches a global: `console.log`, `globalThis.console` and
 * `globalThis['console']` do, the member `x.console` does not.
 */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node)
    return parent.expression.getText() === 'globalThis';
  return !(
    ((ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isPropertyDeclaration(parent)) &&
      parent.name === node) ||
    ts.isImportSpecifier(parent) ||
    ts.isBindingElement(parent) ||
    ts.isExportSpecifier(parent)
  );
}

/**
 * Tells statements from declarations. An assignment or a call at the top of a module would run for
 * any importer.
 */
function acts(node: ts.Statement): boolean {
  return !(
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isVariableStatement(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  );
}
