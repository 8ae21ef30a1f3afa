/**
 * Leaves out what comes by a dynamic import later, but for what `kept` names. The hashes in names
 * of files, which any change draws anew, compress to 100 bytes more or less.
 */
const staticImports = (kept) => ({
  name: 'leave-dynamic-imports',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === 'dynamic-import' && !kept?.test(path)
        ? { path: path.replace(/-\w{8}(?=\.js$)/, ''), external: true }
        : undefined,
    );
  },
});

/** What a page loads; at first, or with what `kept` names. */
const inPage = (kept) => (config) => ({
  ...config,
  format: 'esm',
  platform: 'browser',
  plugins: [...(config.plugins ?? []), staticImports(kept)],
});

export default [
  // What a page or a cold process loads before the first payment.
  {
    name: 'first load',
    path: 'dist/src/index.js',
    import: '{ createClient }',
    limit: '15.2 kB',
    modifyEsbuildConfig: inPage(),
  },
  // With the engine: all that a payment in tokens at hand loads if its seller proves it.
  {
    name: 'paying without a swap',
    path: 'dist/src/index.js',
    import: '{ createClient }',
    limit: '47.7 kB',
    modifyEsbuildConfig: inPage(/\/parts-\w+\.js$/),
  },
  {
    name: 'service',
    path: 'dist/adapters/http/index.js',
    import: '{ createHandler }',
    limit: '26 kB',
  },
  // What stands between a person and the first output: most of it is commander.
  {
    name: 'command',
    path: 'dist/adapters/cli/main.js',
    import: '{ main }',
    limit: '16 kB',
    modifyEsbuildConfig: (config) => ({
      ...config,
      format: 'esm',
      platform: 'node',
      plugins: [...(config.plugins ?? []), staticImports()],
    }),
  },
  // Beside a client that is there already: the classes of errors, and no code of another entry.
  {
    name: 'axios',
    path: 'dist/adapters/axios.js',
    import: '{ wrapAxios }',
    limit: '2.5 kB',
  },
  {
    name: 'wallets of people',
    path: 'dist/adapters/signers/wallet-standard.js',
    import: '{ connectWallet }',
    limit: '3.5 kB',
  },
  // Beside a client too: attempts, sums and balances, most of which its engine has.
  {
    name: 'journal of a browser',
    path: 'dist/adapters/journals/indexeddb.js',
    import: '{ indexedDbJournal }',
    limit: '19.2 kB',
  },
  // Most of it is standardwebhooks with a SHA-256 and base64 of its own, and the classes of errors.
  {
    name: 'receiver of webhooks',
    path: 'dist/adapters/webhooks/verify.js',
    import: '{ verifyWebhook }',
    limit: '9.5 kB',
  },
];
