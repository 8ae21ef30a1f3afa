import { AccountRole, address, getAddressEncoder, type AccountMeta, type Address } from '@solana/kit';
import { inspectSwap, isExactChangeError, local } from 'exact-change';
import { createSandbox, type Sandbox, type VenueBehaviour } from 'exact-change/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { connectRpc } from '../../src/solana/connection.js';
import type { Rpc } from '../../src/solana/rpc.js';
import { buildForeign } from '../helpers/foreign-swap.js';
import { lying } from '../helpers/lying-service.js';
import { ownAccounts } from '../helpers/own-messages.js';
import { closePayers, failureOf, payerOf } from '../helpers/payer.js';
import { landsForTheFeeAlone } from '../helpers/traded.js';
import { directions, type Trader, traderOn } from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';

// What a review of the firewall broke, each as it was shown.

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const SYSTEM: AccountMeta = { address: address('11111111111111111111111111111111'), role: AccountRole.READONLY };

let sandbox: Sandbox;
let rpc: Rpc;

beforeAll(async () => {
  sandbox = await createSandbox({ seed: 'firewall-found', confirmationMs: 0, slotMs: 0 });
  rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 10_000 });
  sandbox.chain.fundSol(ATTACKER, 10_000_000n);
});

afterEach(async () => {
  sandbox.controls.aggregator.restore();
  sandbox.controls.node.intercept = undefined;
  await closePayers();
});

afterAll(async () => {
  rpc.close();
  await sandbox.close();
});

const setVenue = (behaviour: VenueBehaviour) => sandbox.controls.aggregator.setVenue({ attacker: ATTACKER, ...behaviour });

describe('SOL that lies where the wrapped SOL account will be made', () => {
  const LYING = 100_000_000n;

  it('is not for the venue to take: the account that is made for the swap counts it', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['SOL to USDC'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.overcharge] });
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it('is not for the venue to take where the output is unwrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['USDC to SOL'], [SYSTEM, ATTACKER]);
    setVenue({ modes: [MODE.underpay], amount: 5_000_000n });
    expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
  });

  it('is not for the venue to take where the output stays wrapped', async () => {
    const trader = await traderOn(sandbox, rpc);
    sandbox.chain.fundSol(trader.at.SOL, LYING);
    const signed = await trader.sign('route_v2', directions['USDC to wrapped SOL'], [SYSTEM, ATTACKER]);
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
    const bounds = { inputMint: from, outputMint: to, maxInAmount: swap.maxIn, minOutAmount: swap.minOut };
    const inspect = () => inspectSwap(swap.transaction, { rpcUrl: sandbox.rpcUrl, wallet: wallet.address, ...bounds });
    setVenue({});
    expect((await inspect()).accepted).toBe(true);
    setVenue(harm);
    expect((await inspect()).broken?.id).toBe('simulated_lamports');
  });
});

describe('a group that counts the signature of the wallet', () => {
  /** As a multisig of Squads: a program's own account that lists its members, and is only read when one of them votes. */
  const group = (trader: Trader): Address => {
    const at = address('Squad11111111111111111111111111111111111112');
    const data = new Uint8Array(200);
    data.set(getAddressEncoder().encode(trader.address), 107);
    const owner = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
    sandbox.chain.setAccount(at, { lamports: 10_000_000n, data, owner, executable: false });
    return at;
  };

  it('is not handed to the venue, also where it is only read', async () => {
    const trader = await traderOn(sandbox, rpc);
    const extra = [{ address: group(trader), role: AccountRole.READONLY }];
    const error = await failureOf(trader.sign('route_v2', directions['USDC to USDT'], extra), 'unsafe_swap');
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
      const [addresses, config] = params as [string[], { minContextSlot?: number }]; // What our own node client sends.
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

describe('a quote that is none', () => {
  it.each([
    ['an amount that is no number', { maxInAmount: 'all' }],
    ['an amount that is missing', { minOutAmount: undefined }],
    ['a mint that is no address', { inputMint: 'USDC' }],
  ])('with %s is refused with an error of ours', async (_, change) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const quote = await honest.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1000000', swapMode: 'ExactOut' });
    const call = honest.buildSwap({ wallet: wallet.address, quote: { ...quote, ...change } as typeof quote });
    const error: unknown = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isExactChangeError(error)).toBe(true);
  });

  it('is not asked to be built for what is no wallet', async () => {
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const quote = await honest.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1000000', swapMode: 'ExactOut' });
    const error: unknown = await honest.buildSwap({ wallet: 'nobody', quote }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isExactChangeError(error)).toBe(true);
  });
});
