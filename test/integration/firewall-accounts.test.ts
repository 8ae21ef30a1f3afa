import {
  AccountRole,
  address,
  type AccountMeta,
  getAddressEncoder,
  type Address,
} from '@solana/kit';
import type { MintSymbol, VenueBehaviour } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { failureOf } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { landsAndMoves, landsForTheFeeAlone } from '../helpers/traded.js';
import {
  boundsOf,
  type Direction,
  type DirectionName,
  directions,
  type FormName,
  formNames,
  isExactOut,
  traderOn,
} from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const SYSTEM: AccountMeta = {
  address: address('11111111111111111111111111111111'),
  role: AccountRole.READONLY,
};

const sandbox = await useSandbox({ seed: 'firewall-accounts', confirmationMs: 0, slotMs: 0 });
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

/** Writes over a part of an account, as its owner or a stranger could have. */
function spoil(at: Address, offset: number, bytes: readonly number[]): void {
  const account = sandbox.chain.account(at);
  if (account === undefined) throw new Error(`there is no account at ${at}`);
  const data = account.data.slice();
  data.set(bytes, offset);
  sandbox.chain.setAccount(at, { ...account, data });
}

const stranger = [...getAddressEncoder().encode(ATTACKER)];
const some = [1, 0, 0, 0, ...stranger];

/** What is wrong with the account, if that lies in it, and what the refusal must name. */
const spoils: readonly (readonly [string, number, readonly number[], RegExp])[] = [
  ['belongs to another wallet', 32, stranger, /another wallet/],
  ['has a delegate', 72, some, /delegate/],
  ['is frozen', 108, [2], /frozen/],
  ['can be closed by another wallet', 129, some, /close/],
  ['is of another mint', 0, stranger, /mint/],
];

/** Each account that a swap uses and that can be there before. */
const used: readonly (readonly [DirectionName, 'source' | 'output', MintSymbol])[] = [
  ['USDC to USDT', 'source', 'USDC'],
  ['USDC to USDT', 'output', 'USDT'],
  ['SOL to USDC', 'source', 'SOL'],
  ['USDC to SOL', 'output', 'SOL'],
  ['USDC to wrapped SOL', 'output', 'SOL'],
  ['USDC to PYUSD', 'output', 'PYUSD'],
];

describe('a token account that is spoiled before', () => {
  it.each(
    used.flatMap(([direction, side, symbol]) =>
      spoils.map((spoiled) => [direction, side, symbol, ...spoiled] as const),
    ),
  )(
    '%s: the %s account for %s %s, so it is not used',
    async (direction, _side, symbol, _what, offset, bytes, reason) => {
      const trader = await traderOn(sandbox, rpc);
      await sandbox.chain.fundToken(trader.address, sandbox.mints[symbol], 1_000n);
      spoil(trader.at[symbol], offset, bytes);
      const before = trader.holdings();
      const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
      const error = await failureOf(
        trader.sign('exact_out_route_v2', directions[direction]),
        'account_unusable',
      );
      expect(error.details).toMatchObject({
        account: trader.at[symbol],
        reason: expect.stringMatching(reason),
      });
      expectUntouched(error);
      expect(trader.signed).toEqual([]);
      expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(sent);
      expect(trader.holdings()).toEqual(before);
    },
  );

  it('is no matter if the swap does not use it', async () => {
    const trader = await traderOn(sandbox, rpc);
    spoil(trader.at.BONK, 72, some);
    const signed = await trader.sign('route_v2', directions['USDC to USDT']);
    expect(await landsAndMoves(sandbox, trader, directions['USDC to USDT'], signed)).toEqual({
      spent: 2_000_000n,
      gained: 2_000_000n,
    });
  });
});

describe('wrapped SOL that the wallet holds already', () => {
  it('stays if less SOL than that is sold', async () => {
    const trader = await traderOn(sandbox, rpc, 30_000_000n);
    const direction = directions['wrapped SOL to USDC'];
    const signed = await trader.sign('route_v2', direction);
    expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual({
      spent: 20_000_000n,
      gained: 3_000_000n,
    });
    expect(await sandbox.chain.tokenBalance(trader.address, sandbox.mints.SOL)).toBe(10_000_000n);
  });
});

/**
 * The chain alone knows what arrives after the wallet was read: floors are what was there then,
 * less or plus what was agreed.
 */
describe('what comes between the signature and the landing', () => {
  const GIFT = 1_000n;
  const give = (to: Address, symbol: MintSymbol) =>
    sandbox.chain.fundToken(to, sandbox.mints[symbol], GIFT);
  const cross = (names: readonly DirectionName[]) =>
    formNames.flatMap((form) => names.map((name) => [form, name] as const));
  const intoTokens = cross(['USDC to USDT', 'USDC to wrapped SOL', 'USDC to PYUSD']);
  const fromTokens = cross(['USDC to USDT', 'BONK to USDC', 'wrapped SOL to USDC']);

  async function signed(form: FormName, name: DirectionName) {
    const direction: Direction = directions[name];
    const trader = await traderOn(sandbox, rpc, direction.wrapped);
    // The output account is there already: a gift would pay for the rent of a new one too.
    await give(trader.address, direction.to);
    return {
      direction,
      trader,
      swap: await trader.sign(form, direction, [SYSTEM, ATTACKER]),
      ...boundsOf(form, direction.amounts),
    };
  }

  it.each(intoTokens)(
    '%s, %s: tokens that another wallet pays into the output are no part of it',
    async (form, name) => {
      const { direction, trader, swap } = await signed(form, name);
      await give(trader.address, direction.to);
      const { input, output } = direction.amounts;
      expect(await landsAndMoves(sandbox, trader, direction, swap)).toEqual({
        spent: input,
        gained: output,
      });
    },
  );

  it.each(intoTokens)(
    '%s, %s: a hostile venue can pay as much less, and the wallet has its least',
    async (form, name) => {
      const { direction, trader, swap, minOut } = await signed(form, name);
      await give(trader.address, direction.to);
      setVenue({ modes: [MODE.underpay], amount: GIFT });
      const { gained } = await landsAndMoves(sandbox, trader, direction, swap);
      expect(gained + GIFT).toBe(minOut);
    },
  );

  it.each(intoTokens)('%s, %s: and not one unit less than that', async (form, name) => {
    const { direction, trader, swap } = await signed(form, name);
    await give(trader.address, direction.to);
    setVenue({ modes: [MODE.underpay], amount: GIFT + 1n });
    expect(await landsForTheFeeAlone(sandbox, trader, swap)).toBe('guard');
  });

  it.each(fromTokens)(
    '%s, %s: tokens that reach the source stay, as long as the venue is honest',
    async (form, name) => {
      const { direction, trader, swap } = await signed(form, name);
      await give(trader.address, direction.from);
      const { input, output } = direction.amounts;
      expect(await landsAndMoves(sandbox, trader, direction, swap)).toEqual({
        spent: input,
        gained: output,
      });
    },
  );

  it.each(fromTokens)(
    '%s, %s: a hostile venue can take them, and of what was there no more than the maximum',
    async (form, name) => {
      const { direction, trader, swap, maxIn } = await signed(form, name);
      await give(trader.address, direction.from);
      setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input + GIFT });
      const { spent } = await landsAndMoves(sandbox, trader, direction, swap);
      expect(spent).toBe(maxIn + GIFT);
    },
  );

  it.each(fromTokens)('%s, %s: and not one unit more than that', async (form, name) => {
    const { direction, trader, swap, maxIn } = await signed(form, name);
    await give(trader.address, direction.from);
    setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input + GIFT + 1n });
    expect(await landsForTheFeeAlone(sandbox, trader, swap)).toBe('guard');
  });

  it.each(formNames)(
    '%s: SOL that reaches the wallet can be taken by a hostile venue, and no lamport of what was there',
    async (form) => {
      const { trader, swap } = await signed(form, 'USDC to USDT');
      sandbox.chain.fundSol(trader.address, GIFT);
      setVenue({ modes: [MODE.takeSol], amount: GIFT + 1n });
      expect(await landsForTheFeeAlone(sandbox, trader, swap)).toBe('guard');
    },
  );

  it.each(formNames.filter(isExactOut))(
    '%s: a source that has paid something else meanwhile can slip by that much less',
    async (form) => {
      const { direction, trader, swap, maxIn } = await signed(form, 'USDC to USDT');
      await sandbox.chain.fundToken(trader.address, sandbox.mints.USDC, -GIFT);
      setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input - GIFT + 1n });
      expect(await landsForTheFeeAlone(sandbox, trader, swap)).toBe('guard');
    },
  );

  it.each([
    ['frozen', 108, [2], 'swap'],
    ['given a foreign close authority', 129, some, 'guard'],
  ] as const)('an output account that is %s fails the swap', async (_, offset, bytes, part) => {
    const { trader, swap } = await signed('route_v2', 'USDC to USDT');
    spoil(trader.at.USDT, offset, bytes);
    expect(await landsForTheFeeAlone(sandbox, trader, swap)).toBe(part);
  });

  it.each(formNames)(
    '%s: an account of the wallet that can still come to be is not put in reach of the venue',
    async (form) => {
      const trader = await traderOn(sandbox, rpc);
      const handed: AccountMeta = { address: trader.at.PYUSD, role: AccountRole.WRITABLE };
      expect(sandbox.chain.account(trader.at.PYUSD)).toBeUndefined();
      const error = await failureOf(
        trader.sign(form, directions['USDC to USDT'], [handed]),
        'unsafe_swap',
      );
      expect(error.details.rule).toBe('exposed_vacancy');
      // Lamports that another wallet sends there make it no safer.
      sandbox.chain.fundSol(trader.at.PYUSD, 1_000_000n);
      const again = await failureOf(
        trader.sign(form, directions['USDC to USDT'], [handed]),
        'unsafe_swap',
      );
      expect(again.details.rule).toBe('exposed_vacancy');
      expect(trader.signed).toEqual([]);
    },
  );
});
