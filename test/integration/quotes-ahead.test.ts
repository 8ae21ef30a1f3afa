import { address as addressOf } from '@solana/kit';
import { receiptOf } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { beforeEach, expect, it } from 'vitest';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
const url = `${sandbox.apiUrl}/usdc`;
const AMOUNT_AT = 64;

/** What the client asked: each quote by what it swaps from. */
let quotes: string[] = [];
/** Resolves with the next quote that is asked for. */
let quoted: Promise<void> | undefined;
let onQuote: () => void = () => undefined;

beforeEach(() => {
  [quotes, quoted, onQuote] = [[], undefined, () => undefined];
});

/** A payer that reads its own accounts once there is what `quoted` waits for. */
async function payer(funds: Partial<Record<MintSymbol, string>>) {
  const own = { address: '' };
  const watched: typeof fetch = async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    const from = asked.searchParams.get('inputMint');
    // A larger one asks for a price.
    if (from !== null && Number(asked.searchParams.get('amount')) <= 10_000) {
      quotes.push(from);
      onQuote();
    }
    const body = String(init?.body);
    if (body.includes('getMultipleAccounts') && body.includes(own.address)) await quoted;
    return fetch(input, init);
  };
  // Each swap brings what is missing and no more, so that each payment needs one.
  const policy = { minSwap: '0' };
  const one = await payerOn(sandbox, funds, { autoSwap: true, policy, fetch: watched });
  own.address = one.address;
  return one;
}

const swappedFrom = (response: Response) =>
  Object.values(sandbox.mints).find(
    ({ address }) => address === receiptOf(response)?.swap?.inputMint,
  )?.symbol;

it('a likely swap is quoted while the tokens of the wallet are read', async () => {
  const { client } = await payer({ SOL: '1' });
  await client.fetch(url);
  quotes = [];
  quoted = new Promise((resolve) => (onQuote = resolve));
  const response = await client.fetch(url);

  expect(response.status).toBe(200);
  expect(swappedFrom(response)).toBe('SOL');
  expect(quotes).toEqual([sandbox.mints.SOL.address]);
});

it('a token that is gone by then is swapped no more, whatever was quoted', async () => {
  const { address, client } = await payer({ SOL: '1', USDT: '5' });
  await client.warm();
  expect(swappedFrom(await client.fetch(url))).toBe('USDT');
  const account = await sandbox.chain.fundToken(addressOf(address), sandbox.mints.USDT, 0n);
  const held = sandbox.chain.account(account)!;
  const data = Uint8Array.from(held.data).fill(0, AMOUNT_AT, AMOUNT_AT + 8);
  sandbox.chain.setAccount(account, { ...held, data });
  const response = await client.fetch(url);

  expect(response.status).toBe(200);
  expect(swappedFrom(response)).toBe('SOL');
  expect(await sandbox.balance(address, 'USDC')).toBe(0n);
});

it('a better token that came by then is swapped', async () => {
  const { address, client } = await payer({ SOL: '1' });
  expect(swappedFrom(await client.fetch(url))).toBe('SOL');
  await sandbox.chain.fundToken(addressOf(address), sandbox.mints.USDT, 5_000_000n);
  const response = await client.fetch(url);

  expect(response.status).toBe(200);
  expect(swappedFrom(response)).toBe('USDT');
  expect(await sandbox.balance(address, 'USDC')).toBe(0n);
});
