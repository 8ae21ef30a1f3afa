import { expect, it } from 'vitest';
import { newWallet } from '../../../../src/journal/registry.js';
import { SOLANA_MAINNET, TOKEN_PROGRAM } from '../../../../src/network.js';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { reservedOf, shareFirst } from '../../../../src/payments/plan/holdings.js';
import { firstBeside, outdateHoldings } from '../../../../src/payments/plan/pinned-holdings.js';
import { addressBytes } from '../../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { decodeTokenAccount } from '../../../../src/solana/tokens/decode.js';

const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const SOURCE = associatedTokenAddress(WALLET, USDC, TOKEN_PROGRAM);

const account = (lamports: bigint, data = new Uint8Array(), owner = '1'.repeat(32)) => ({
  owner,
  lamports,
  data,
  executable: false,
});

function holding(amount: bigint) {
  const data = new Uint8Array(165);
  data.set(addressBytes(USDC), 0);
  data.set(addressBytes(WALLET), 32);
  new DataView(data.buffer).setBigUint64(64, amount, true);
  data[108] = 1;
  return account(2_039_280n, data, TOKEN_PROGRAM);
}

/** A client at a time of 0; a node gives its wallet 7 lamports and no tokens. */
function contextOf(options: { autoSwap?: boolean; swapFrom?: string[] } = {}) {
  const clock = { ms: 0 };
  const asked: string[] = [];
  // The parts of a context that holdings need.
  const context = {
    config: {
      network: SOLANA_MAINNET,
      autoSwap: true,
      runtime: { now: () => clock.ms },
      signer: { address: WALLET },
      ...options,
    },
    rpc: {
      accounts: (addresses: readonly string[]) => {
        asked.push('accounts');
        const accounts = addresses.map((one) => (one === WALLET ? account(7n) : null));
        return Promise.resolve({ slot: 1, accounts });
      },
      tokenAccounts: () => {
        asked.push('tokens');
        return Promise.resolve({ slot: 1, accounts: [] });
      },
    },
    memory: createMemory(),
    ...newWallet().coordination,
  } as unknown as PaymentContext;
  const lamports = async () => (await shareFirst(context, undefined)).lamports;
  return { context, clock, asked, lamports };
}

/** What a node shows of a wallet with 5 lamports and 3 of USDC. */
const FIVE = new Map([
  [WALLET, { account: account(5n), slot: 2 }],
  [SOURCE, { account: holding(3n), slot: 2 }],
]);

it('what is tried first is SOL and pinned tokens, in one question', async () => {
  const { lamports, asked } = contextOf();

  expect(await lamports()).toBe(7n);
  expect(asked).toEqual(['accounts']);
});

it('all is read if the order of the caller has a token that is not pinned', async () => {
  const { lamports, asked } = contextOf({ swapFrom: [USDC, BONK] });

  expect(await lamports()).toBe(7n);
  expect(asked.sort()).toEqual(['accounts', 'tokens']);
});

it('what was read beside something else is not asked for again for a second', async () => {
  const { context, clock, asked, lamports } = contextOf();
  await firstBeside(context)?.note(FIVE);
  clock.ms = 999;
  const { tokens } = await shareFirst(context, undefined);

  expect(await lamports()).toBe(5n);
  expect(tokens.map(({ account: { mint, amount } }) => [mint, amount])).toEqual([[USDC, 3n]]);
  expect(await context.ledger.available(SOURCE, { from: 0, to: 0 })).toBe(3n);
  expect(asked).toEqual([]);
  clock.ms = 1_000;
  expect(await lamports()).toBe(7n);
});

it('it is asked for if a swap landed while it was read', async () => {
  const { context, lamports } = contextOf();
  const beside = firstBeside(context);
  outdateHoldings(context);
  await beside?.note(FIVE);

  expect(await lamports()).toBe(7n);
});

it('it is asked for if nothing came of that, or it was dropped', async () => {
  const failing = contextOf();
  firstBeside(failing.context);
  const dropping = contextOf();
  firstBeside(dropping.context)?.drop();

  expect(await failing.lamports()).toBe(7n);
  expect(await dropping.lamports()).toBe(7n);
});

it('it is read beside nothing if there is no swap to come, or it was read a moment ago', async () => {
  expect(firstBeside(contextOf({ autoSwap: false }).context)).toBe(undefined);
  const { context, lamports } = contextOf();
  await lamports();
  expect(firstBeside(context)).toBe(undefined);
});

it('what payments in flight have of a token counts beside a second account of it', async () => {
  const { context } = contextOf();
  await context.ledger.hold(SOURCE, 'a', 2n);
  const read = decodeTokenAccount(holding(3n));
  const tokens = [SOURCE, '1'.repeat(32)].flatMap((address) =>
    read === undefined ? [] : [{ address, account: read }],
  );

  const holdings = { network: SOLANA_MAINNET, wallet: WALLET, lamports: 0n, tokens };
  expect((await reservedOf(context, holdings)).get(USDC)).toBe(2n);
});
