import { defineConfig } from 'tsup';
import { COMMON, writeLicenses } from './scripts/bundling.js';
import { ENTRIES } from './scripts/entries.js';

export default defineConfig({
  ...COMMON,
  entry: Object.fromEntries(
    Object.values(ENTRIES).map((path) => [path.replace(/\.ts$/, ''), path]),
  ),
  format: ['esm', 'cjs'],
  dts: true,
  clean: true,
  onSuccess: () => writeLicenses('dist/LICENSES.txt'),
});
