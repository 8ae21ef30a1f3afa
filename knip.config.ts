import type { KnipConfig } from 'knip';
import { BIN, ENTRIES, PAGE } from './scripts/entries.js';

const config: KnipConfig = {
  workspaces: {
    '.': {
      entry: [
        ...Object.values(ENTRIES),
        ...Object.values(BIN),
        PAGE.page,
        'bench/**/*.child.ts',
        'examples/*.ts',
        'examples/browser/{main,start}.ts',
        'scripts/*.ts',
        'test/browser/{page,*.page}.ts',
        'test/simulation/{quick-keys,thread}.ts',
      ],
      project: [
        'src/**/*.ts',
        'adapters/**/*.ts',
        'examples/**/*.ts',
        'bench/**/*.ts',
        'scripts/**/*.ts',
        'test/**/*.ts',
      ],
      ignoreDependencies: ['@solana/buffer-layout', 'buffer', 'workerd'],
      ignoreBinaries: ['apt-get', 'taskset'],
    },
    'adapters/sandbox': {
      project: ['**/*.ts'],
      ignoreDependencies: [
        '@jup-ag/api',
        '@noble/hashes',
        '@solana/buffer-layout',
        '@solana/web3.js',
      ],
    },
  },
  ignoreExportsUsedInFile: true,
};

export default config;
