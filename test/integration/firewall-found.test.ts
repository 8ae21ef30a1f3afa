import {
  AccountRole,
  address,
  getAddressEncoder,
  type Address,
  type Instruction,
} from '@solana/kit';
import { inspectSwap, isExactChangeError, local } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { copyBuild } from '../../src/payments/plan/swap-build.js';
import { altered, buildForeign } from '../helpers/foreign-swap.js';
import { lying } from '../helpers/lying-service.js';
import { ownAccounts } from '../helpers/own-messages.js';
import { failureOf, payerOf } from '../helpers/payer.js';
import { landAndExpectFeeOnly } from '../helpers/traded.js';
import { type Direction, directions, type Trader, traderOn } from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';
import { ATTACKER, SYSTEM, useVenue } from '../helpers/venue.js';

// Attacks that a review of the firewall found.

const { sandbox, rpc, setVenue } = await useVenue('firewall-found');

describe('an account that the venue owns, with the wallet as delegate and close authority', () => {
  const key = (of: Address) => [...getAddressEncoder().encode(of)];
  const whole: Direction = {
    ...{ from: 'USDC', to: 'USDT' },
    amounts: {
      input: 20_000_000n,
      mostInput: 20_100_000n,
      output: 20_000_000n,
      leastOutput: 19_900_000n,
    },
  };
  const direct: readonly (readonly [string, Direction, MintSymbol])[] = [
    ['the source', directions['USDC to USDT'], 'USDC'],
    ['the output', directions['USDC to USDT'], 'USDT'],
    ['a source of wrapped SOL', directions['wrapped SOL to USDC'], 'SOL'],
    ['a source with its whole balance for sale', whole, 'USDC'],
    ['an output of Token-2022', directions['USDC to PYUSD'], 'PYUSD'],
  ];

  /**
   * Rewrites the account as a hostile venue could: the wallet signs for a new owner, and the new
   * owner signs for the delegate and the close authority.
   */
  function takeOver(trader: Trader, symbol: MintSymbol): void {
    const at = trader.at[symbol];
    const account = sandbox.chain.account(at);
    if (account === undefined) throw new Error(`there is no account at ${at}`);
    const data = account.data.slice();
    data.set(key(ATTACKER), 32);
    data.set([1, 0, 0, 0, ...key(trader.address)], 72);
    data.fill(0xff, 121, 129);
    data.set([1, 0, 0, 0, ...key(trader.address)], 129);
    sandbox.chain.setAccount(at, { ...account, data });
  }

  it.each(direct)('makes the guard fail the swap when it is %s', async (_, direction, symbol) => {
    const trader = await traderOn(sandbox, rpc, direction.wrapped);
    await sandbox.chain.fundToken(trader.address, sandbox.mints[direction.to], 1n);
    const signed = await trader.sign('route_v2', direction);
    takeOver(trader, symbol);
    expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
  });

  it('makes inspectSwap report guarded: false when the revoke comes too late', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '20', USDT: '1' });
    const swap = await buildForeign(sandbox, wallet.address, {
      from: 'USDC',
      to: 'USDT',
      amount: 2_000_000n,
    });
    const bounds = {
      inputMint: 'USDC',
      outputMint: 'USDT',
      maxInAmount: swap.maxIn,
      minOutAmount: swap.minOut,
    };
    const inspect = (transaction: string) =>
      inspectSwap(transaction, { rpcUrl: sandbox.rpcUrl, wallet: wallet.address, ...bounds });
    const { recomposed } = await inspect(swap.transaction);
    const guarded = recomposed?.transaction ?? '';
    expect(await inspect(guarded)).toMatchObject({ accepted: true, guarded: true });
    const isRevoke = ({ data }: Instruction) => data?.length === 1 && data[0] === 5;
    const late = await altered(sandbox, guarded, (all) => [
      ...all.slice(0, -1).filter((call) => !isRevoke(call)),
      ...all.filter(isRevoke),
      ...all.slice(-1),
    ]);
    expect(await inspect(late)).toMatchObject({ accepted: true, guarded: false });
  });
});

describe('SOL at the address of a wrapped SOL account that does not exist yet', () => {
  const LAMPORTS = 100_000_000n;

  it('cannot be taken by the venue when the swap sells SOL', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LAMPORTS);
    const signed = await trader.sign('route_v2', directions['SOL to USDC'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.overcharge] });
    expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
  });

  it('cannot be taken by the venue when the output is unwrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LAMPORTS);
    const signed = await trader.sign('route_v2', directions['USDC to SOL'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.underpay], amount: 5_000_000n });
    expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
  });

  it('cannot be taken by the venue when the output stays wrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LAMPORTS);
    const signed = await trader.sign('route_v2', directions['USDC to wrapped SOL'], [
      SYSTEM,
      ATTACKER,
    ]);
    setVenue({ modes: [MODE.underpay], amount: 5_000_000n });
    expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
  });

  it.each([
    ['SOL', 'USDC', { modes: [MODE.overcharge], amount: 5_000_000n }],
    ['USDC', 'SOL', { modes: [MODE.underpay], amount: 5_000_000n }],
  ] as const)(
    'is protected by inspectSwap in a foreign swap of %s to %s',
    async (from, to, harm) => {
      const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '20' });
      const swap = await buildForeign(sandbox, wallet.address, { from, to, amount: 20_000_000n });
      sandbox.chain.fundSol((await ownAccounts(sandbox, wallet.address)).SOL, LAMPORTS);
      const bounds = {
        inputMint: from,
        outputMint: to,
        maxInAmount: swap.maxIn,
        minOutAmount: swap.minOut,
      };
      const inspect = () =>
        inspectSwap(swap.transaction, {
          rpcUrl: sandbox.rpcUrl,
          wallet: wallet.address,
          ...bounds,
        });
      setVenue({});
      expect((await inspect()).accepted).toBe(true);
      setVenue(harm);
      expect((await inspect()).broken?.id).toBe('simulated_lamports');
    },
  );
});

describe('a multisig account with the wallet as a member', () => {
  /**
   * An account like a Squads multisig: a program owns it, it lists its members, and a vote of a
   * member only reads it.
   */
  const group = (trader: Trader): Address => {
    const at = address('Squad11111111111111111111111111111111111112');
    const data = new Uint8Array(200);
    data.set(getAddressEncoder().encode(trader.address), 107);
    const owner = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
    sandbox.chain.setAccount(at, { lamports: 10_000_000n, data, owner, executable: false });
    return at;
  };

  it('is not passed to the venue even as a read-only account', async () => {
    const trader = await traderOn(sandbox, rpc);
    const extra = [{ address: group(trader), role: AccountRole.READONLY }];
    const error = await failureOf(
      trader.sign('route_v2', directions['USDC to USDT'], extra),
      'unsafe_swap',
    );
    expectUntouched(error);
    expect(trader.signed).toEqual([]);
  });
});

describe('a node behind a load balancer with lagging replicas', () => {
  it('is asked for the accounts of the venue at the slot of the wallet read or later', async () => {
    const trader = await traderOn(sandbox, rpc);
    const slots: (number | undefined)[] = [];
    sandbox.controls.node.intercept = (method, params, next) => {
      if (method !== 'getMultipleAccounts') return next();
      // The RPC client of the library sends these parameters.
      const [addresses, config] = params as [string[], { minContextSlot?: number }];
      if (addresses.includes(ATTACKER)) slots.push(config.minContextSlot);
      return next();
    };
    await trader.sign('route_v2', directions['USDC to USDT'], [SYSTEM, ATTACKER]);
    expect(slots.length).toBeGreaterThan(0);
    expect(slots.every((slot) => slot === Number(sandbox.chain.slot))).toBe(true);
  });
});

describe('the longest swap that the client composes', () => {
  it('is accepted from a service that composes it in the same way', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    await sandbox.chain.fundToken(address(wallet.address), sandbox.mints.SOL, 10n);
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const transport = lying(sandbox, honest, 'transaction', {});
    const payer = payerOf(sandbox, wallet, { autoSwap: true, swapFrom: ['SOL'], transport });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });
});

describe('a transaction with bytes that change during inspectSwap', () => {
  it('is judged and recomposed by its bytes at the call', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '20' });
    const swap = await buildForeign(sandbox, wallet.address, {
      from: 'USDC',
      to: 'USDT',
      amount: 2_000_000n,
    });
    const bounds = {
      inputMint: 'USDC',
      outputMint: 'USDT',
      maxInAmount: swap.maxIn,
      minOutAmount: swap.minOut,
    };
    const bytes = Uint8Array.from(Buffer.from(swap.transaction, 'base64'));
    const inspecting = inspectSwap(bytes, {
      rpcUrl: sandbox.rpcUrl,
      wallet: wallet.address,
      ...bounds,
    });
    bytes.fill(0);
    const verdict = await inspecting;
    expect([verdict.accepted, verdict.recomposed === undefined]).toEqual([true, false]);
  });
});

describe('a swap instruction with its own map method', () => {
  it('is copied, so later changes of its accounts have no effect', () => {
    const meta = { address: ATTACKER as string, signer: false, writable: true };
    const accounts = Object.assign([meta], { map: () => accounts });
    const lookupTables = Object.assign([ATTACKER as string], { map: () => lookupTables });
    const copy = copyBuild({
      instruction: { program: ATTACKER, accounts, data: new Uint8Array(8) },
      lookupTables,
    });
    meta.address = SYSTEM.address;
    lookupTables[0] = SYSTEM.address;
    expect(copy.instruction.accounts).toEqual([
      { address: ATTACKER, signer: false, writable: true },
    ]);
    expect(copy.lookupTables).toEqual([ATTACKER]);
  });
});

describe('an invalid request of buildSwap', () => {
  it.each([
    ['an amount that is a word', { maxInAmount: 'all' }],
    ['a missing amount', { minOutAmount: undefined }],
    ['a mint that is a symbol', { inputMint: 'USDC' }],
  ])('rejects with an ExactChangeError for a quote with %s', async (_, change) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const quote = await honest.quote({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
      swapMode: 'ExactOut',
    });
    const call = honest.buildSwap({
      wallet: wallet.address,
      quote: { ...quote, ...change } as typeof quote,
    });
    const error: unknown = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isExactChangeError(error)).toBe(true);
  });

  it('rejects with an ExactChangeError for an invalid wallet', async () => {
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const quote = await honest.quote({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
      swapMode: 'ExactOut',
    });
    const error: unknown = await honest.buildSwap({ wallet: 'nobody', quote }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isExactChangeError(error)).toBe(true);
  });
});
