import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, inject, it } from 'vitest';
import { blocksOf, GUIDES } from '../helpers/guides.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const blocks = [...GUIDES, 'adapters/sandbox/README.md']
  .flatMap((guide) => blocksOf(guide).filter(({ language }) => language === 'ts'))
  .map(({ code }) => code);

/**
 * Declarations that the documentation leaves to its reader or shows earlier. A block with imports
 * looks whole, so it must import `createClient` too.
 */
const around = `
declare const walletSecretKey: string;
declare const apiKey: string;
declare const wallet: string;
declare const transaction: string;
declare const paymentRequired: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
declare const client: import('exact-change').Client;
type PolicyOptions = import('exact-change').PolicyOptions;
`;
const CREATE_CLIENT = "declare const createClient: typeof import('exact-change').createClient;\n";
const fileOf = (code: string) => `${/^import /m.test(code) ? '' : CREATE_CLIENT}${code}export {};`;

/** Returns a block with the option's name misspelt. */
const misspelt = (option: string) => {
  const block = blocks.find((code) => code.includes(`${option}:`)) ?? '';
  return { option, code: block.replace(`${option}:`, `${option}s:`) };
};
const OPTIONS = [
  ...['swapFrom', 'authorize', 'basePath', 'events', 'body', 'timeoutMs', 'allow', 'minOutAmount'],
  ...['journal', 'network', 'maxPerDay', 'kind', 'swapMode', 'outbox'],
];
const mistakes = OPTIONS.map(misspelt);

/** Returns the compiler's complaints about each text; one program reads the packages only once. */
function complaintsAbout(texts: readonly string[]): string[][] {
  const read = ts.readConfigFile(`${root}tsconfig.json`, (name) => ts.sys.readFile(name));
  const parsed = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  // Readers write `process.env.KEY`.
  const options = { ...parsed.options, noPropertyAccessFromIndexSignature: false };
  // This folder has the packages that guides show; the folders above it have our own.
  const { doors } = inject('packed');
  const files = new Map([
    [`${doors}/docs-around.d.ts`, around],
    ...texts.map((text, index) => [`${doors}/docs-${index}.ts`, fileOf(text)] as const),
  ]);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    const text = files.get(name);
    return text === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2021);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].slice(1).map((name) => {
    const source = program.getSourceFile(name);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ].map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  });
}

describe('the code in README and the guides', () => {
  it('compiles, and fails to compile when an option is misspelt', () => {
    const found = complaintsAbout([...blocks, ...mistakes.map(({ code }) => code)]);
    const [right, wrong] = [found.slice(0, blocks.length), found.slice(blocks.length)];
    const broken = blocks.map((code, index) => ({ code, complaints: right[index] }));
    expect(broken.filter(({ complaints }) => complaints?.length !== 0)).toEqual([]);
    expect(mistakes.map(({ option }, index) => [option, wrong[index]?.length])).toEqual(
      mistakes.map(({ option }) => [option, 1]),
    );
  });
});
