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

it('lists in SECURITY.md all installed and bundled packages, and no other', () => {
  const notPackages = ['npm run check:lockfile', 'dist/LICENSES.txt'];
  expect([...new Set(named)].sort()).toEqual(
    [
      ...new Set([...Object.keys(dependencies), ...BUNDLED, ...BUNDLED_IN_COMMAND, ...notPackages]),
    ].sort(),
  );
});

// The demo of the sandbox contains the client. Node has a `buffer` of its own.
it('requires the dependencies of the client in the sandbox at the same versions', () => {
  const { buffer: _, ...ofClient } = dependencies;
  expect(sandbox).toMatchObject(ofClient);
});

it('bundles the half of bigint-buffer without native code', () => {
  expect(read('scripts/bundling.ts')).toContain("'bigint-buffer': 'bigint-buffer/dist/browser.js'");
  expect(read('node_modules/bigint-buffer/dist/browser.js')).not.toMatch(/require\(|bindings/);
});
