import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BUNDLED, BUNDLED_IN_COMMAND } from '../../scripts/bundling.js';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const dependenciesOf = (manifest: string) =>
  (JSON.parse(read(manifest)) as { dependencies: Record<string, string> }).dependencies;
const dependencies = dependenciesOf('package.json');
const sandbox = dependenciesOf('adapters/sandbox/package.json');
const [, section = ''] = read('SECURITY.md').split('## Dependencies');
const named = [...section.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) =>
  name.startsWith('test/') ? [] : name,
);

it('SECURITY.md names what is installed with the package, and what is in its files', () => {
  const others = ['npm run check:lockfile', 'dist/LICENSES.txt'];
  expect([...new Set(named)].sort()).toEqual(
    [
      ...new Set([...Object.keys(dependencies), ...BUNDLED, ...BUNDLED_IN_COMMAND, ...others]),
    ].sort(),
  );
});

// Its demo has the client in it. In Node `buffer` is Node's own.
it('the sandbox asks for the packages of the client at the same versions', () => {
  const { buffer: _, ...ofClient } = dependencies;
  expect(sandbox).toMatchObject(ofClient);
});

it('of bigint-buffer the half without native code is bundled', () => {
  expect(read('scripts/bundling.ts')).toContain("'bigint-buffer': 'bigint-buffer/dist/browser.js'");
  expect(read('node_modules/bigint-buffer/dist/browser.js')).not.toMatch(/require\(|bindings/);
});
