import { createClient, memoryJournal, type Client } from 'exact-change';
import type { SandboxWallet } from 'exact-change-sandbox';
import { afterEach, describe, expect, it } from 'vitest';
import { signaturesOf, tokenAccount, tokenAmount } from '../helpers/chain.js';
import { arrivingTogether, decided, onSandbox } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let client: Client | undefined;

afterEach(async () => {
  await client?.close();
});

/** More calls than go on in two turns of the event loop. */
const CROWD = 70;
const PRICE = 10_000n;

const merchantHolds = () => tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);

/** Counts the transactions of the wallet's USDC account. */
const landed = async ({ address }: SandboxWallet) =>
  (await signaturesOf(sandbox.rpcUrl, await tokenAccount(address, sandbox.mints.USDC))).length;

/** A fetch that returns a single 402 in each turn of the event loop, after all have arrived. */
function arrivingOneByOne(calls: number): typeof fetch {
  const together = arrivingTogether(calls);
  let queue: Promise<void> = Promise.resolve();
  const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return async (input, init) => {
    const response = await together(input, init);
    if (response.status === 402) await (queue = queue.then(nextTurn));
    return response;
  };
}

describe('70 parallel calls of a wallet without the token', () => {
  it('make one swap and pay once each when their 402s arrive in sequence', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '10000000' });
    const options = { journal: memoryJournal(), fetch: arrivingOneByOne(CROWD) };
    client = createClient(onSandbox(sandbox, wallet, options));
    const { fetch } = client;
    await client.warm();
    const before = await merchantHolds();
    const responses = await Promise.all(
      Array.from({ length: CROWD }, (_, call) => fetch(`${sandbox.apiUrl}/usdc?call=${call}`)),
    );
    const receipts = await Promise.all(responses.map(decided));
    expect(receipts.filter(({ state }) => state !== 'settled')).toEqual([]);
    expect((await merchantHolds()) - before).toBe(BigInt(CROWD) * PRICE);
    expect(await landed(wallet)).toBe(CROWD + 1);
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(0n);
  });
});
