import { describe, expect, it } from 'vitest';
import { readSources } from './modules.js';
import { sideEffects } from './side-effects.js';

const check = (text: string) => sideEffects(new Map([['src/a.ts', text]]));

describe('the code of the library', () => {
  it('prints nothing, reads no environment, uses no Node global, and runs nothing', () => {
    expect(sideEffects(readSources('src'))).toEqual([]);
  });

  it.each([
    ["export const f = () => console.log('x');", 'src/a.ts:1 uses console'],
    ["export const f = () => globalThis.console.warn('x');", 'src/a.ts:1 uses console'],
    ['export const log = console;', 'src/a.ts:1 uses console'],
    ['export const f = () => ({ console });', 'src/a.ts:1 uses console'],
    ['export const node = () =>\n  process.versions.node;', 'src/a.ts:2 uses process'],
    [
      'export const f = () => { const { process } = globalThis; return process?.env.KEY; };',
      'src/a.ts:1 reads the environment',
    ],
    ["export const f = (x: string) => Buffer.from(x, 'hex');", 'src/a.ts:1 uses Buffer'],
    ['globalThis.fetch = pay;', 'src/a.ts:1 runs on import'],
    ['install();', 'src/a.ts:1 runs on import'],
    ['if (x) y();', 'src/a.ts:1 runs on import'],
  ])('finds the side effect in %s', (text, finding) => {
    expect(check(text)).toEqual([finding]);
  });

  it('allows code that only looks similar', () => {
    expect(
      check(
        "import { Buffer } from 'buffer';\nexport const f = (x: Log) => [Buffer.from('ab'), x.console, 'process.env', /* console */ { process: 1 }];",
      ),
    ).toEqual([]);
  });
});
