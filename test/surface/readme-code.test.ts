import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { readText } from './modules.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const blocks = [...readText('README.md').matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);

/** What README leaves to who reads it, or has shown further up. */
const around = `
declare const walletSecretKey: string;
declare const apiKey: string;
declare const wallet: string;
declare const transaction: string;
declare const paymentRequired: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
declare const client: import('exact-change').Client;
declare const createClient: typeof import('exact-change').createClient;
type PolicyOptions = import('exact-change').PolicyOptions;
`;

/** The one block that names an option, with another name in its place. */
const misspelt = (option: string) => {
  const [block, ...others] = blocks.filter((code) => code.includes(`${option}:`));
  return { option, code: others.length === 0 ? (block ?? '').replace(`${option}:`, `${option}s:`) : '' };
};
const mistakes = ['swapFrom', 'authorize', 'basePath', 'events', 'body', 'timeoutMs', 'allow', 'minOutAmount'].map(misspelt);

/** What the compiler says of texts that are files only here, in one program: the packages behind them are read once. */
function complaintsAbout(texts: readonly string[]): string[][] {
  const read = ts.readConfigFile(`${root}tsconfig.json`, (name) => ts.sys.readFile(name));
  const parsed = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  // `process.env.KEY` is how everybody else writes it.
  const options = { ...parsed.options, noPropertyAccessFromIndexSignature: false };
  const files = new Map([
    [`${root}readme-around.d.ts`, around],
    ...texts.map((text, index) => [`${root}readme-${index}.ts`, `${text}export {};`] as const),
  ]);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile(name, ...rest) : ts.createSourceFile(name, text, ts.ScriptTarget.ES2021);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].slice(1).map((name) => {
    const source = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(({ messageText }) =>
      ts.flattenDiagnosticMessageText(messageText, '\n'),
    );
  });
}

describe('the code in README', () => {
  it('compiles, and would not with an option misspelt', { timeout: 120_000 }, () => {
    const found = complaintsAbout([...blocks, ...mistakes.map(({ code }) => code)]);
    const [right, wrong] = [found.slice(0, blocks.length), found.slice(blocks.length)];
    expect(right).toEqual(blocks.map(() => []));
    expect(mistakes.map(({ option }, index) => [option, wrong[index]?.length])).toEqual(mistakes.map(({ option }) => [option, 1]));
  });
});
