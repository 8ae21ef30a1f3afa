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

/** More than go on in a few turns of the event loop. */
const CROWD = 200;
const PRICE = 10_000n;

const merchantHolds = () => tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);

/** How many transactions have touched the wallet's account of what is paid in. */
const landed = async ({ address }: SandboxWallet) =>
  (await signaturesOf(sandbox.rpcUrl, await tokenAccount(address, sandbox.mints.USDC))).length;

/** A fetch that gives out a 402 each time around the event loop, once all have come. */
function arrivingOneByOne(calls: number): typeof fetch {
  const together = arrivingTogether(calls);
  let line: Promise<void> = Promise.resolve();
  const around = () => new Promise<void>((resolve) => setImmediate(resolve));
  return async (input, init) => {
    const response = await together(input, init);
    if (response.status === 402) await (line = line.then(around));
    return response;
  };
}

describe('a crowd of calls of a wallet without the token', () => {
  it.each([
    ['one after the other', arrivingOneByOne],
    ['at the same moment', arrivingTogether],
  ])('makes one swap and pays each once when their answers come %s', async (_, arriving) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '10000000' });
    const options = { journal: memoryJournal(), fetch: arriving(CROWD) };
    client = createClient(onSandbox(sandbox, wallet, options));
    const { fetch } = client;
    await client.warm();
    const before = await merchantHolds();
    const responses = await Promise.all(
      Array.from({ length: CROWD }, (__, call) => fetch(`${sandbox.apiUrl}/usdc?call=${call}`)),
    );
    const receipts = await Promise.all(responses.map(decided));
    expect(receipts.filter(({ state }) => state !== 'settled')).toEqual([]);
    expect((await merchantHolds()) - before).toBe(BigInt(CROWD) * PRICE);
    expect(await landed(wallet)).toBe(CROWD + 1);
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(0n);
  });
});
