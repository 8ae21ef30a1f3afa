import { AccountRole, type AccountMeta, getAddressEncoder, type Address } from '@solana/kit';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { failureOf } from '../helpers/payer.js';
import { landsAndMoves, landAndExpectFeeOnly } from '../helpers/traded.js';
import {
  boundsOf,
  type Direction,
  type DirectionName,
  directions,
  type FormName,
  formNames,
  isExactOut,
  swapsAt,
  traderOn,
} from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';
import { ATTACKER, SYSTEM, useVenue } from '../helpers/venue.js';

const { sandbox, rpc, setVenue } = await useVenue('firewall-accounts');

/** Overwrites a part of an account, as its owner or a stranger could have done. */
function overwrite(at: Address, offset: number, bytes: readonly number[]): void {
  const account = sandbox.chain.account(at);
  if (account === undefined) throw new Error(`there is no account at ${at}`);
  const data = account.data.slice();
  data.set(bytes, offset);
  sandbox.chain.setAccount(at, { ...account, data });
}

const stranger = [...getAddressEncoder().encode(ATTACKER)];
const someStranger = [1, 0, 0, 0, ...stranger];

/** The defect of the account, its offset and bytes, and the reason that the refusal must name. */
const defects: readonly (readonly [string, number, readonly number[], RegExp])[] = [
  ['belongs to another wallet', 32, stranger, /another wallet/],
  ['has a delegate', 72, someStranger, /delegate/],
  ['is frozen', 108, [2], /frozen/],
  ['can be closed by another wallet', 129, someStranger, /close/],
  ['has another mint', 0, stranger, /mint/],
];

/** Each account that a swap uses and that can exist before it. */
const used: readonly (readonly [DirectionName, 'source' | 'output', MintSymbol])[] = [
  ['USDC to USDT', 'source', 'USDC'],
  ['USDC to USDT', 'output', 'USDT'],
  ['SOL to USDC', 'source', 'SOL'],
  ['USDC to SOL', 'output', 'SOL'],
  ['USDC to wrapped SOL', 'output', 'SOL'],
  ['USDC to PYUSD', 'output', 'PYUSD'],
];

describe('a swap with an unusable token account', () => {
  it.each(
    // One account has every defect, and every account has one.
    used.flatMap(([direction, side, symbol], index) =>
      defects
        .filter((_, place) => index === 0 || place === index % defects.length)
        .map((defect) => [direction, side, symbol, ...defect] as const),
    ),
  )(
    'is refused before the signature: %s, the %s account for %s %s',
    async (direction, _side, symbol, _what, offset, bytes, reason) => {
      const trader = await traderOn(sandbox, rpc);
      await sandbox.chain.fundToken(trader.address, sandbox.mints[symbol], 1_000n);
      overwrite(trader.at[symbol], offset, bytes);
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

  it('lands when it does not use that account', async () => {
    const trader = await traderOn(sandbox, rpc);
    overwrite(trader.at.BONK, 72, someStranger);
    const signed = await trader.sign('route_v2', directions['USDC to USDT']);
    expect(await landsAndMoves(sandbox, trader, directions['USDC to USDT'], signed)).toEqual({
      spent: 2_000_000n,
      gained: 2_000_000n,
    });
  });
});

describe('wrapped SOL that the wallet holds before a swap', () => {
  it('stays wrapped when the swap sells less than it', async () => {
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
 * Only the chain knows the balances after the client has read the wallet. The floors of the guard
 * are the balances at that read, less the maximal input or plus the minimal output.
 */
describe('a change between the signature and the landing of a swap', () => {
  const GIFT = 1_000n;
  const give = (to: Address, symbol: MintSymbol) =>
    sandbox.chain.fundToken(to, sandbox.mints[symbol], GIFT);
  const intoTokens = (turn: number) =>
    swapsAt(turn, ['USDC to USDT', 'USDC to wrapped SOL', 'USDC to PYUSD']);
  const fromTokens = (turn: number) =>
    swapsAt(turn, ['USDC to USDT', 'BONK to USDC', 'wrapped SOL to USDC']);

  async function signed(form: FormName, name: DirectionName) {
    const direction: Direction = directions[name];
    const trader = await traderOn(sandbox, rpc, direction.wrapped);
    // Create the output account first: a gift would also pay for the rent of a new account.
    await give(trader.address, direction.to);
    return {
      direction,
      trader,
      swap: await trader.sign(form, direction, [SYSTEM, ATTACKER]),
      ...boundsOf(form, direction.amounts),
    };
  }

  it.each(intoTokens(0))(
    'does not count as output when another wallet pays into the output account (%s, %s)',
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

  it.each(intoTokens(1))(
    'lets a hostile venue pay less by a gift, and the wallet has its minimum (%s, %s)',
    async (form, name) => {
      const { direction, trader, swap, minOut } = await signed(form, name);
      await give(trader.address, direction.to);
      setVenue({ modes: [MODE.underpay], amount: GIFT });
      const { gained } = await landsAndMoves(sandbox, trader, direction, swap);
      expect(gained + GIFT).toBe(minOut);
    },
  );

  it.each(intoTokens(2))(
    'stops a venue that pays less by a gift and a unit (%s, %s)',
    async (form, name) => {
      const { direction, trader, swap } = await signed(form, name);
      await give(trader.address, direction.to);
      setVenue({ modes: [MODE.underpay], amount: GIFT + 1n });
      expect(await landAndExpectFeeOnly(sandbox, trader, swap)).toBe('guard');
    },
  );

  it.each(fromTokens(0))(
    'leaves a gift in the source account when the venue is honest (%s, %s)',
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

  it.each(fromTokens(1))(
    'lets a hostile venue take a gift and the maximum from the source (%s, %s)',
    async (form, name) => {
      const { direction, trader, swap, maxIn } = await signed(form, name);
      await give(trader.address, direction.from);
      setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input + GIFT });
      const { spent } = await landsAndMoves(sandbox, trader, direction, swap);
      expect(spent).toBe(maxIn + GIFT);
    },
  );

  it.each(fromTokens(2))(
    'stops a venue that takes a gift, the maximum and a unit (%s, %s)',
    async (form, name) => {
      const { direction, trader, swap, maxIn } = await signed(form, name);
      await give(trader.address, direction.from);
      setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input + GIFT + 1n });
      expect(await landAndExpectFeeOnly(sandbox, trader, swap)).toBe('guard');
    },
  );

  it('stops a venue that takes a lamport more than a gift of SOL', async () => {
    const { trader, swap } = await signed('route_v2', 'USDC to USDT');
    sandbox.chain.fundSol(trader.address, GIFT);
    setVenue({ modes: [MODE.takeSol], amount: GIFT + 1n });
    expect(await landAndExpectFeeOnly(sandbox, trader, swap)).toBe('guard');
  });

  it.each(formNames.filter(isExactOut))(
    'lowers the input that a venue may take by a payment from the source (%s)',
    async (form) => {
      const { direction, trader, swap, maxIn } = await signed(form, 'USDC to USDT');
      await sandbox.chain.fundToken(trader.address, sandbox.mints.USDC, -GIFT);
      setVenue({ modes: [MODE.overcharge], amount: maxIn - direction.amounts.input - GIFT + 1n });
      expect(await landAndExpectFeeOnly(sandbox, trader, swap)).toBe('guard');
    },
  );

  it.each([
    ['frozen', 108, [2], 'swap'],
    ['given a foreign close authority', 129, someStranger, 'guard'],
  ] as const)('fails the swap when the output account is %s', async (_, offset, bytes, part) => {
    const { trader, swap } = await signed('route_v2', 'USDC to USDT');
    overwrite(trader.at.USDT, offset, bytes);
    expect(await landAndExpectFeeOnly(sandbox, trader, swap)).toBe(part);
  });

  it('cannot create an account within reach of the venue, because such a swap is refused', async () => {
    const trader = await traderOn(sandbox, rpc);
    const vacant: AccountMeta = { address: trader.at.PYUSD, role: AccountRole.WRITABLE };
    const refuses = async () => {
      const { details } = await failureOf(
        trader.sign('route_v2', directions['USDC to USDT'], [vacant]),
        'unsafe_swap',
      );
      expect(details.rule).toBe('exposed_vacancy');
    };
    expect(sandbox.chain.account(trader.at.PYUSD)).toBeUndefined();
    await refuses();
    // Lamports from another wallet at that address do not make it safe.
    sandbox.chain.fundSol(trader.at.PYUSD, 1_000_000n);
    await refuses();
    expect(trader.signed).toEqual([]);
  });
});
