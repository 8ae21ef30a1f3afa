import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
const [, section = ''] = read('SECURITY.md').split('## Dependencies');
const [, list = ''] = /const BUNDLED = \[([^\]]*)\]/.exec(read('tsup.config.ts')) ?? [];
const bundled = [...list.matchAll(/'([^']+)'/g)].flatMap(([, name]) => name ?? []);
const named = [...section.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) => (name.startsWith('test/') ? [] : name));

it('SECURITY.md names what is installed with the package, and what is in its files', () => {
  expect(bundled).toContain('bigint-buffer');
  const others = ['npm run check:lockfile', 'dist/LICENSES.txt'];
  expect([...new Set(named)].sort()).toEqual([...new Set([...Object.keys(dependencies), ...bundled, ...others])].sort());
});

it('of bigint-buffer the half without native code is bundled', () => {
  expect(read('tsup.config.ts')).toContain("'bigint-buffer': 'bigint-buffer/dist/browser.js'");
  expect(read('node_modules/bigint-buffer/dist/browser.js')).not.toMatch(/require\(|bindings/);
});
