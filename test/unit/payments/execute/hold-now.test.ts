import { expect, it } from 'vitest';
import { newWallet } from '../../../../src/journal/registry.js';
import { SOLANA_MAINNET, TOKEN_PROGRAM } from '../../../../src/network.js';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { holdTokens } from '../../../../src/payments/execute/fund.js';
import { createMemory } from '../../../../src/payments/memory.js';
import type { Choice } from '../../../../src/payments/plan/choose.js';
import { addressBytes } from '../../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';

const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const SOURCE = associatedTokenAddress(WALLET, USDC, TOKEN_PROGRAM);
const HELD = 1_000n;

/** A wallet that holds a thousand units, with the clock of the test. */
function walletAt(now: () => number) {
  const data = new Uint8Array(165);
  data.set(addressBytes(USDC), 0);
  data.set(addressBytes(WALLET), 32);
  new DataView(data.buffer).setBigUint64(64, HELD, true);
  data[108] = 1;
  const account = { owner: TOKEN_PROGRAM, lamports: 2_039_280n, data, executable: false };
  const memory = createMemory();
  memory.mints.set(USDC, { tokenProgram: TOKEN_PROGRAM, decimals: 6 });
  memory.payees.add(SOURCE);
  // The parts of a context that a hold needs.
  return {
    config: {
      ...{ network: SOLANA_MAINNET, runtime: { now }, autoSwap: false },
      signer: { address: WALLET },
    },
    rpc: { accounts: () => Promise.resolve({ slot: 1, accounts: [account] }) },
    closing: new AbortController(),
    memory,
    ...newWallet().coordination,
  } as unknown as PaymentContext;
}

/** A payment of an amount. */
const paying = (amount: bigint) =>
  ({
    offer: { mint: USDC, payTo: WALLET, amount, index: 0 },
    facts: { source: SOURCE, available: 0n },
  }) as unknown as Choice;

const hold = (context: PaymentContext, amount: bigint) =>
  holdTokens(context, paying(amount), 'one', undefined);

// A balance counts as fresh for 30 s.
it.each(Array.from({ length: 12 }, (_, at) => at + 1))(
  'holds the whole balance however old its reading grows, when each step takes %i s',
  async (seconds) => {
    for (let age = 0; age < 32; age += 1) {
      let time = 10 ** 12;
      const context = walletAt(() => (time += seconds * 1_000));
      await context.ledger.see(SOURCE, { amount: HELD, at: time - age * 1_000, slot: 1 });
      expect(await hold(context, HELD)).toMatchObject({ before: { amount: HELD } });
    }
  },
);

it('holds the whole balance also when another call forgets its reading', async () => {
  let looks = 0;
  const context = walletAt(() => {
    looks += 1;
    if (looks % 2 === 0 && looks < 6) void context.ledger.forget(SOURCE);
    return 10 ** 12;
  });
  expect(await hold(context, HELD)).toMatchObject({ before: { amount: HELD } });
});

it('refuses to hold more than the balance', async () => {
  const context = walletAt(() => 10 ** 12);
  expect(await hold(context, HELD + 1n)).toBeUndefined();
});
