import { address as addressOf } from '@solana/kit';
import { receiptOf } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { beforeEach, expect, it } from 'vitest';
import { waitForAllQuotes } from '../helpers/all-quotes.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
waitForAllQuotes();
const url = `${sandbox.apiUrl}/usdc`;
const AMOUNT_AT = 64;

/** Input mints of the quotes that the client requested. */
let quotes: string[] = [];
/** Resolves with the next quote request. */
let quoted: Promise<void> | undefined;
let onQuote: () => void = () => undefined;

beforeEach(() => {
  [quotes, quoted, onQuote] = [[], undefined, () => undefined];
});

/** Returns a payer that reads its own accounts only after `quoted` resolves. */
async function payer(funds: Partial<Record<MintSymbol, string>>) {
  const own = { address: '' };
  const watched: typeof fetch = async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    const from = asked.searchParams.get('inputMint');
    // A larger amount asks for a price.
    if (from !== null && Number(asked.searchParams.get('amount')) <= 10_000) {
      quotes.push(from);
      onQuote();
    }
    const body = String(init?.body);
    if (body.includes('getMultipleAccounts') && body.includes(own.address)) await quoted;
    return fetch(input, init);
  };
  // Each swap brings only the missing tokens, so each payment needs a swap.
  const policy = { minSwap: '0' };
  const created = await payerOn(sandbox, funds, { autoSwap: true, policy, fetch: watched });
  own.address = created.address;
  return created;
}

const swappedFrom = (response: Response) =>
  Object.values(sandbox.mints).find(
    ({ address }) => address === receiptOf(response)?.swap?.inputMint,
  )?.symbol;

it('quotes a likely swap while it reads the tokens of the wallet', async () => {
  const { client } = await payer({ SOL: '1' });
  await client.fetch(url);
  quotes = [];
  quoted = new Promise((resolve) => (onQuote = resolve));
  const response = await client.fetch(url);

  expect(response.status).toBe(200);
  expect(swappedFrom(response)).toBe('SOL');
  expect(quotes).toEqual([sandbox.mints.SOL.address]);
});

it('does not swap a token that left after the quote', async () => {
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

it('swaps a better token that arrived after the quote', async () => {
  const { address, client } = await payer({ SOL: '1' });
  expect(swappedFrom(await client.fetch(url))).toBe('SOL');
  await sandbox.chain.fundToken(addressOf(address), sandbox.mints.USDT, 5_000_000n);
  const response = await client.fetch(url);

  expect(response.status).toBe(200);
  expect(swappedFrom(response)).toBe('USDT');
  expect(await sandbox.balance(address, 'USDC')).toBe(0n);
});
