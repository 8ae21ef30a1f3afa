import { expect, it } from 'vitest';
import { newWallet } from '../../../../src/journal/registry.js';
import { SOLANA_MAINNET, TOKEN_PROGRAM } from '../../../../src/network.js';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { reservedOf, readFirstHoldings } from '../../../../src/payments/plan/holdings.js';
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

/** A client at time 0 with a node that shows 7 lamports and no tokens of its wallet. */
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
        const accounts = addresses.map((address) => (address === WALLET ? account(7n) : null));
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
  const lamports = async () => (await readFirstHoldings(context, undefined)).lamports;
  return { context, clock, asked, lamports };
}

/** Accounts of a wallet that holds 5 lamports and 3 units of USDC. */
const FIVE = new Map([
  [WALLET, { account: account(5n), slot: 2 }],
  [SOURCE, { account: holding(3n), slot: 2 }],
]);

it('reads SOL and pinned tokens first, in one request', async () => {
  const { lamports, asked } = contextOf();

  expect(await lamports()).toBe(7n);
  expect(asked).toEqual(['accounts']);
});

it('reads all tokens when the order of the caller has a token that is not pinned', async () => {
  const { lamports, asked } = contextOf({ swapFrom: [USDC, BONK] });

  expect(await lamports()).toBe(7n);
  expect(asked.sort()).toEqual(['accounts', 'tokens']);
});

it('reuses holdings that were read beside another request for a second', async () => {
  const { context, clock, asked, lamports } = contextOf();
  await firstBeside(context)?.note(FIVE);
  clock.ms = 999;
  const { tokens } = await readFirstHoldings(context, undefined);

  expect(await lamports()).toBe(5n);
  expect(tokens.map(({ account: { mint, amount } }) => [mint, amount])).toEqual([[USDC, 3n]]);
  expect(await context.ledger.available(SOURCE, { from: 0, to: 0 })).toBe(3n);
  expect(asked).toEqual([]);
  clock.ms = 1_000;
  expect(await lamports()).toBe(7n);
});

it('reads holdings again when a swap landed during a read beside another request', async () => {
  const { context, lamports } = contextOf();
  const beside = firstBeside(context);
  outdateHoldings(context);
  await beside?.note(FIVE);

  expect(await lamports()).toBe(7n);
});

it('reads holdings itself when a read beside another request fails or is dropped', async () => {
  const failing = contextOf();
  firstBeside(failing.context);
  const dropping = contextOf();
  firstBeside(dropping.context)?.drop();

  expect(await failing.lamports()).toBe(7n);
  expect(await dropping.lamports()).toBe(7n);
});

it('reads nothing beside another request when swaps are off or holdings were just read', async () => {
  expect(firstBeside(contextOf({ autoSwap: false }).context)).toBe(undefined);
  const { context, lamports } = contextOf();
  await lamports();
  expect(firstBeside(context)).toBe(undefined);
});

it('counts the holds of payments in flight also for a token with a second account', async () => {
  const { context } = contextOf();
  await context.ledger.hold(SOURCE, 'a', 2n);
  const read = decodeTokenAccount(holding(3n));
  const tokens = [SOURCE, '1'.repeat(32)].flatMap((address) =>
    read === undefined ? [] : [{ address, account: read }],
  );

  const holdings = { network: SOLANA_MAINNET, wallet: WALLET, lamports: 0n, tokens };
  expect((await reservedOf(context, holdings)).get(USDC)).toBe(2n);
});
