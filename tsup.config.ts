import { defineConfig } from 'tsup';
import { APART, COMMON, writeLicenses } from './scripts/bundling.js';
import { ENTRIES } from './scripts/entries.js';

const named = (paths: readonly string[]) =>
  Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), path]));

export default defineConfig({
  ...COMMON,
  entry: named([...Object.values(ENTRIES), ...APART]),
  format: ['esm', 'cjs'],
  dts: { entry: named(Object.values(ENTRIES)) },
  clean: true,
  onSuccess: () => writeLicenses('dist/LICENSES.txt'),
});
