import { defineConfig } from 'tsup';
import { COMMON, writeLicenses } from './scripts/bundling.js';

export default defineConfig({
  ...COMMON,
  entry: {
    'src/index': 'src/index.ts',
    'adapters/mounts/express': 'adapters/mounts/express.ts',
    'adapters/mounts/hono': 'adapters/mounts/hono.ts',
    'adapters/http/index': 'adapters/http/index.ts',
    'adapters/journals/file': 'adapters/journals/file.ts',
    'adapters/journals/postgres': 'adapters/journals/postgres.ts',
    'adapters/mounts/node': 'adapters/mounts/node.ts',
    'adapters/webhooks/index': 'adapters/webhooks/index.ts',
    'adapters/webhooks/verify': 'adapters/webhooks/verify.ts',
  },
  format: ['esm', 'cjs'],
  dts: true,
  clean: true,
  onSuccess: () => writeLicenses('dist/LICENSES.txt'),
});
