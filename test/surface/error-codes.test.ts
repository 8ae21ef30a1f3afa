import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/errors.js';
import { readSources, readText } from './modules.js';

const library = [...readSources('src', 'adapters')].filter(
  ([path]) => !/^src\/errors[/.]/.test(path),
);
const tests = [...readSources('test')].filter(([path]) => !path.startsWith('test/surface/'));
const quotes = (files: [string, string][], code: string) =>
  files.some(([, text]) => new RegExp(`['"\`]${code}['"\`]`).test(text));

describe('every error code', () => {
  it('has a row in the table of errors', () => {
    const rows = readText('docs/errors.md')
      .split('\n')
      .filter((line) => line.startsWith('|'));
    expect(
      errorCodes.filter((code) => !rows.some((row) => row.startsWith(`| \`${code}\` `))),
    ).toEqual([]);
  });

  it('is thrown by the library', () => {
    expect(errorCodes.filter((code) => !quotes(library, code))).toEqual([]);
  });

  it('is provoked by a test', () => {
    expect(errorCodes.filter((code) => !quotes(tests, code))).toEqual([]);
  });
});
