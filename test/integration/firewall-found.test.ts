import {
  AccountRole,
  address,
  getAddressEncoder,
  type AccountMeta,
  type Address,
  type Instruction,
} from '@solana/kit';
import { inspectSwap, isExactChangeError, local } from 'exact-change';
import type { MintSymbol, VenueBehaviour } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { copyBuild } from '../../src/payments/plan/swap-build.js';
import { altered, buildForeign } from '../helpers/foreign-swap.js';
import { lying } from '../helpers/lying-service.js';
import { ownAccounts } from '../helpers/own-messages.js';
import { failureOf, payerOf } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { landsForTheFeeAlone } from '../helpers/traded.js';
import { type Direction, directions, type Trader, traderOn } from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';

// What a review of the firewall broke, each as it was shown.

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const SYSTEM: AccountMeta = {
  address: address('11111111111111111111111111111111'),
  role: AccountRole.READONLY,
};

const sandbox = await useSandbox({ seed: 'firewall-found', confirmationMs: 0, slotMs: 0 });
let rpc: Rpc;

beforeAll(async () => {
  rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 10_000 });
  sandbox.chain.fundSol(ATTACKER, 10_000_000n);
});

afterAll(async () => {
  rpc.close();
});

const setVenue = (behaviour: VenueBehaviour) =>
  sandbox.controls.aggregator.setVenue({ attacker: ATTACKER, ...behaviour });

describe('an account that a venue has made its own, with the wallet as its delegate and its close authority', () => {
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
    ['a source that is sold out', whole, 'USDC'],
    ['an output of Token-2022', directions['USDC to PYUSD'], 'PYUSD'],
  ];

  /**
   * What is left by a venue that signs with the wallet for a new owner, and as the new owner for
   * all the rest.
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

  it.each(direct)('stops the swap in the guard, if it is %s', async (_, direction, symbol) => {
    const trader = await traderOn(sandbox, rpc, direction.wrapped);
    await sandbox.chain.fundToken(trader.address, sandbox.mints[direction.to], 1n);
    const signed = await trader.sign('route_v2', direction);
    takeOver(trader, symbol);
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it('is not guarded against by a transaction that revokes only after it has counted', async () => {
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
      ...all.slice(0, -1).filter((one) => !isRevoke(one)),
      ...all.filter(isRevoke),
      ...all.slice(-1),
    ]);
    expect(await inspect(late)).toMatchObject({ accepted: true, guarded: false });
  });
});

describe('SOL that lies where the wrapped SOL account will be made', () => {
  const LYING = 100_000_000n;

  it('is not for the venue to take: the account that is made for the swap counts it', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['SOL to USDC'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.overcharge] });
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it('is not for the venue to take if the output is unwrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['USDC to SOL'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.underpay], amount: 5_000_000n });
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it('is not for the venue to take if the output stays wrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['USDC to wrapped SOL'], [
      SYSTEM,
      ATTACKER,
    ]);
    setVenue({ modes: [MODE.underpay], amount: 5_000_000n });
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it.each([
    ['SOL', 'USDC', { modes: [MODE.overcharge], amount: 5_000_000n }],
    ['USDC', 'SOL', { modes: [MODE.underpay], amount: 5_000_000n }],
  ] as const)('is seen in a foreign swap of %s to %s', async (from, to, harm) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '20' });
    const swap = await buildForeign(sandbox, wallet.address, { from, to, amount: 20_000_000n });
    sandbox.chain.fundSol((await ownAccounts(sandbox, wallet.address)).SOL, LYING);
    const bounds = {
      inputMint: from,
      outputMint: to,
      maxInAmount: swap.maxIn,
      minOutAmount: swap.minOut,
    };
    const inspect = () =>
      inspectSwap(swap.transaction, { rpcUrl: sandbox.rpcUrl, wallet: wallet.address, ...bounds });
    setVenue({});
    expect((await inspect()).accepted).toBe(true);
    setVenue(harm);
    expect((await inspect()).broken?.id).toBe('simulated_lamports');
  });
});

describe('a group that counts the signature of the wallet', () => {
  /**
   * As a multisig of Squads: a program's own account that lists its members, and is only read when
   * one of them votes.
   */
  const group = (trader: Trader): Address => {
    const at = address('Squad11111111111111111111111111111111111112');
    const data = new Uint8Array(200);
    data.set(getAddressEncoder().encode(trader.address), 107);
    const owner = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
    sandbox.chain.setAccount(at, { lamports: 10_000_000n, data, owner, executable: false });
    return at;
  };

  it('is not handed to the venue, also if it is only read', async () => {
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

describe('a node that lags behind itself', () => {
  it('is asked for what the venue could reach at the slot at which the wallet was read, or later', async () => {
    const trader = await traderOn(sandbox, rpc);
    const slots: (number | undefined)[] = [];
    sandbox.controls.node.intercept = (method, params, next) => {
      if (method !== 'getMultipleAccounts') return next();
      // What our own node client sends.
      const [addresses, config] = params as [string[], { minContextSlot?: number }];
      if (addresses.includes(ATTACKER)) slots.push(config.minContextSlot);
      return next();
    };
    await trader.sign('route_v2', directions['USDC to USDT'], [SYSTEM, ATTACKER]);
    expect(slots.length).toBeGreaterThan(0);
    expect(slots.every((slot) => slot === Number(sandbox.chain.slot))).toBe(true);
  });
});

describe('the longest swap that we compose', () => {
  it('is taken from a service that composes it as we do', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    await sandbox.chain.fundToken(address(wallet.address), sandbox.mints.SOL, 10n);
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const transport = lying(sandbox, honest, 'transaction', {});
    const payer = payerOf(sandbox, wallet, { autoSwap: true, swapFrom: ['SOL'], transport });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });
});

describe('bytes that change while they are inspected', () => {
  it('are judged as they were, and so is what is composed anew', async () => {
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

describe('an instruction whose accounts copy themselves', () => {
  it('is copied all the same: what is checked is what is composed', () => {
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

describe('a quote that is none', () => {
  it.each([
    ['an amount that is no number', { maxInAmount: 'all' }],
    ['an amount that is missing', { minOutAmount: undefined }],
    ['a mint that is no address', { inputMint: 'USDC' }],
  ])('with %s is refused with an error of ours', async (_, change) => {
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

  it('is not asked to be built for what is no wallet', async () => {
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
