import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createClient } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { median, row, timed } from './measure.js';

const RUNS = 15;
const PARALLEL = 30;

type Fetch = (url: string) => Promise<Response>;

/**
 * Paid calls of a wallet that holds the token, beside the official client's: same sandbox,
 * alternating.
 */
export async function paymentTime(): Promise<string[]> {
  const sandbox = await createSandbox({ confirmationMs: 0, slotMs: 50 });
  try {
    const url = `${sandbox.apiUrl}/usdc`;
    const pair = async () => ({
      ours: await ourFetch(sandbox),
      theirs: await officialFetch(sandbox),
    });
    const cold = { ours: [] as number[], theirs: [] as number[] };
    const warm = { ours: [] as number[], theirs: [] as number[] };
    let { ours, theirs } = await pair();
    // Code is loaded and compiled before anything counts.
    await Promise.all([pay(ours, url), pay(theirs, url)]);
    for (let run = 0; run < RUNS; run++) {
      ({ ours, theirs } = await pair());
      cold.ours.push(await timed(() => pay(ours, url)));
      cold.theirs.push(await timed(() => pay(theirs, url)));
      warm.ours.push(await timed(() => pay(ours, url)));
      warm.theirs.push(await timed(() => pay(theirs, url)));
    }
    const parallel = (fetch: Fetch) =>
      timed(() => Promise.all(Array.from({ length: PARALLEL }, () => pay(fetch, url))));
    const [together, theirTogether] = [await parallel(ours), await parallel(theirs)];
    return [
      row('first paid call of a client', median(cold.ours), median(cold.theirs)),
      row('next paid call', median(warm.ours), median(warm.theirs)),
      row(`${PARALLEL} paid calls in parallel, together`, together, theirTogether),
    ];
  } finally {
    await sandbox.close();
  }
}

async function pay(fetch: Fetch, url: string): Promise<void> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`expected 200, got ${response.status}`);
  await response.text();
}

async function ourFetch({ createWallet, rpcUrl, jupiterUrl }: Sandbox): Promise<Fetch> {
  const { secretKey } = await createWallet({ USDC: '100' });
  const client = createClient({ walletSecretKey: secretKey, rpcUrl, jupiterUrl });
  return (url) => client.fetch(url);
}

async function officialFetch({ createWallet, rpcUrl }: Sandbox): Promise<Fetch> {
  const { secretKey } = await createWallet({ USDC: '100' });
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(secretKey));
  const client = new ExactSvmScheme(signer, { rpcUrl });
  return wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: 'solana:*', client }] });
}
