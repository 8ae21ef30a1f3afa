import { defineConfig } from 'tsup';
import { COMMON, writeLicenses } from './scripts/bundling.js';

export default defineConfig({
  ...COMMON,
  entry: {
    'src/index': 'src/index.ts',
    'adapters/express': 'adapters/express.ts',
    'adapters/hono': 'adapters/hono.ts',
    'adapters/http/index': 'adapters/http/index.ts',
    'adapters/journal/file': 'adapters/journal/file.ts',
    'adapters/journal/postgres': 'adapters/journal/postgres.ts',
    'adapters/node': 'adapters/node.ts',
    'adapters/webhooks/index': 'adapters/webhooks/index.ts',
    'adapters/webhooks/verify': 'adapters/webhooks/verify.ts',
  },
  format: ['esm', 'cjs'],
  dts: true,
  clean: true,
  onSuccess: () => writeLicenses('dist/LICENSES.txt'),
});
