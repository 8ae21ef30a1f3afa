// Prints the files that the import loads, and then the files that the first call adds.
// No server listens there, so the call loads its code and fails.
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
