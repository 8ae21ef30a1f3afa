import { defineConfig } from 'tsup';
import { COMMON, ENTRY, entryOf, writeLicenses } from './scripts/bundling.js';
import { ENTRIES } from './scripts/entries.js';

export default defineConfig({
  ...COMMON,
  entry: ENTRY,
  format: ['esm', 'cjs'],
  dts: { entry: entryOf(Object.values(ENTRIES)) },
  clean: true,
  onSuccess: () => writeLicenses('dist/LICENSES.txt'),
});
