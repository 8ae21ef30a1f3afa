// Does the same as loaded.cjs. Loader hooks run in another thread, so they log the files to disk.
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';

const [, , log] = process.argv;
writeFileSync(log, '');
const hooks = `
  import { appendFileSync } from 'node:fs';
  export async function load(url, context, next) {
    appendFileSync(${JSON.stringify(log)}, url + '\\n');
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const loaded = () => readFileSync(log, 'utf8').trim().split('\n');

// No server listens there, so the call loads its code and fails.
const nowhere = 'http://127.0.0.1:9';
const call = (client) =>
  client
    .quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1', swapMode: 'ExactIn' })
    .catch(() => undefined);

const { createClient } = await import('exact-change');
const first = loaded();
await call(
  createClient({ walletSeed: new Uint8Array(32).fill(7), rpcUrl: nowhere, jupiterUrl: nowhere }),
);
console.log(JSON.stringify({ first, later: loaded().filter((file) => !first.includes(file)) }));
