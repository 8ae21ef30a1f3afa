// Prints the files that are loaded by the import alone, and then those that the first call adds.
// Nobody listens there: the call loads what it needs, and fails.
const nowhere = 'http://127.0.0.1:9';
const call = (client) =>
  client
    .quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1', swapMode: 'ExactIn' })
    .catch(() => undefined);

const { createClient } = require('exact-change');
const first = Object.keys(require.cache);
const client = createClient({
  walletSeed: new Uint8Array(32).fill(7),
  rpcUrl: nowhere,
  jupiterUrl: nowhere,
});
call(client).then(() =>
  console.log(
    JSON.stringify({
      first,
      later: Object.keys(require.cache).filter((file) => !first.includes(file)),
    }),
  ),
);
