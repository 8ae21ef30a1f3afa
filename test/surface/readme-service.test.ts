import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { readText } from './modules.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const path = `${root}readme-service.ts`;

/** Read and parsed once for all programs. */
const sources = new Map<string, ts.SourceFile | undefined>();

/** What the compiler says about a file that is only here. */
function complaintsAbout(text: string): string[] {
  const read = ts.readConfigFile(`${root}tsconfig.json`, (name) => ts.sys.readFile(name));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    if (name === path) return ts.createSourceFile(name, text, ts.ScriptTarget.ES2021);
    if (!sources.has(name)) sources.set(name, getSourceFile(name, ...rest));
    return sources.get(name);
  };
  const program = ts.createProgram([path], options, host);
  const source = program.getSourceFile(path);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, '\n'),
  );
}

it.each([
  ['a service', 'http', 'authorize:', 'authorise:'],
  ['its mounts', 'http', 'basePath:', 'basepath:'],
  ['a sender of webhooks', 'webhooks', 'events:', 'event:'],
  ['a receiver of webhooks', 'webhooks', 'headers:', 'header:'],
])('%s as README shows it compiles', (_, subpath, option, misspelt) => {
  const blocks = [...readText('README.md').matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const services = blocks.filter((code) => code.includes(`'exact-change/${subpath}'`) && code.includes(option));
  expect(services).toHaveLength(1);
  for (const code of services) {
    expect(complaintsAbout(code)).toEqual([]);
    expect(complaintsAbout(code.replace(option, misspelt))).toHaveLength(1);
  }
});
