// Runs in the marked copy that code.ts makes. Prints the files and hops of a swap with its payment,
// and of a warm payment.
import { createClient } from '../src/index.js';
import { createSandbox } from '../adapters/sandbox/index.js';

declare global {
  var entered: ((file: string) => void) | undefined;
}

const sandbox = await createSandbox();
const { secretKey } = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
const { rpcUrl, jupiterUrl } = sandbox;
const client = createClient({ walletSecretKey: secretKey, rpcUrl, jupiterUrl, autoSwap: true });
const counts: number[] = [];
for (const name of ['swap', 'cold', 'warm']) {
  const settled = new Promise<void>((done) => {
    const off = client.on('payment.settled', () => {
      off();
      done();
    });
  });
  const files: string[] = [];
  globalThis.entered = (file) => files.push(file);
  const { status } = await client.fetch(`${sandbox.apiUrl}/usdc`);
  globalThis.entered = undefined;
  if (status !== 200) throw new Error(`The seller answered ${status}.`);
  await settled;
  const hops = files.filter((file, at) => at > 0 && file !== files[at - 1]).length;
  if (name !== 'cold') counts.push(new Set(files).size, hops);
}
process.stdout.write(JSON.stringify(counts));
await client.close();
await sandbox.close();
process.exit(0);
