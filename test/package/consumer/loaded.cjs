// Prints the files that are loaded by the import alone, and then those that the first call adds.
const { createClient } = require('exact-change');
const first = Object.keys(require.cache);
const client = createClient({ walletSecretKey: Array.from({ length: 32 }, () => 7) });
client
  .spent()
  .then(() => console.log(JSON.stringify({ first, later: Object.keys(require.cache).filter((file) => !first.includes(file)) })));
