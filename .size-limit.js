/**
 * What a page or a cold process loads before the first payment; the engine comes by one dynamic
 * import later.
 */
const firstLoad = {
  name: 'leave-dynamic-imports',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

export default [
  {
    name: 'first load',
    path: 'dist/src/index.js',
    import: '{ createClient }',
    limit: '20 kB',
    modifyEsbuildConfig: (config) => ({
      ...config,
      format: 'esm',
      platform: 'browser',
      plugins: [...(config.plugins ?? []), firstLoad],
    }),
  },
  {
    name: 'service',
    path: 'dist/adapters/http/index.js',
    import: '{ createHandler }',
    limit: '28 kB',
  },
  // What stands between a person and the first output: most of it is commander.
  {
    name: 'command',
    path: 'dist/adapters/cli/main.js',
    import: '{ main }',
    limit: '17 kB',
    modifyEsbuildConfig: (config) => ({
      ...config,
      format: 'esm',
      platform: 'node',
      plugins: [...(config.plugins ?? []), firstLoad],
    }),
  },
  // Beside a client that is there already: the classes of errors, and no code of another entry.
  {
    name: 'axios',
    path: 'dist/adapters/axios.js',
    import: '{ wrapAxios }',
    limit: '3 kB',
  },
  {
    name: 'wallets of people',
    path: 'dist/adapters/signers/wallet-standard.js',
    import: '{ connectWallet }',
    limit: '4 kB',
  },
  // Beside a client too: attempts, sums and balances, most of which its engine has.
  {
    name: 'journal of a browser',
    path: 'dist/adapters/journals/indexeddb.js',
    import: '{ indexedDbJournal }',
    limit: '21 kB',
  },
  // Most of it is standardwebhooks with a SHA-256 and base64 of its own, and the classes of errors.
  {
    name: 'receiver of webhooks',
    path: 'dist/adapters/webhooks/verify.js',
    import: '{ verifyWebhook }',
    limit: '10.5 kB',
  },
];
