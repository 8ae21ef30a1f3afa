import { type AccountMeta, type Address } from '@solana/kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { MODE, TARGET } from '../../adapters/sandbox/venue/venue.mjs';
import { failureOf } from '../helpers/payer.js';
import { eachNth, share, unsampled } from '../helpers/sampled.js';
import { landsAndMoves, landAndExpectFeeOnly, type Moved } from '../helpers/traded.js';
import {
  boundsOf,
  type Direction,
  type DirectionName,
  directionNames,
  directions,
  type FormName,
  formAt,
  formNames,
  isExactOut,
  swapsAt,
  type Trader,
  traderOn,
} from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';
import { ATTACKER, SYSTEM, useVenue } from '../helpers/venue.js';

const { sandbox, rpc, setVenue } = await useVenue('firewall-venue');
/** Accounts that an attack needs: the System program, the attacker's wallet and token accounts. */
const reach = new Map<DirectionName, readonly (Address | AccountMeta)[]>();

beforeAll(async () => {
  const { chain, mints } = sandbox;
  for (const name of directionNames) {
    const symbols = new Set([directions[name].to, 'USDC'] as const);
    const loot = await Promise.all(
      [...symbols].map((symbol) => chain.fundToken(ATTACKER, mints[symbol], 1n)),
    );
    reach.set(name, [SYSTEM, ATTACKER, ...loot]);
  }
});

/**
 * `runs`: the swap lands. `simulation_failed`: it cannot run and is not signed. Any other value is
 * the rule that refuses it.
 */
type AtOnce = 'runs' | 'simulation_failed' | 'guard' | 'exposed_account' | 'inner_token';
/**
 * `fails`: the transaction is undone. `runs`: the guard repairs the damage, or the venue takes no
 * more than the terms.
 */
type Landed = 'runs' | 'fails';

/**
 * An attack of a venue, with its outcome worked out by hand; `but` has outcomes that differ by
 * direction.
 */
interface Attack {
  readonly does: string;
  readonly modes: readonly number[];
  readonly target?: number;
  readonly amount?: bigint;
  readonly atOnce: AtOnce;
  readonly late: Landed;
  readonly but?: Partial<
    Record<DirectionName, AtOnce | { readonly atOnce: AtOnce; readonly late: Landed }>
  >;
}

const { source: onSource, destination: onOutput, other: onOther } = TARGET;

/**
 * The swap unwraps native SOL before the guard, and that fails when the wallet can no longer close
 * the account.
 */
const unwrapsSource = { 'SOL to USDC': 'simulation_failed' } as const;
const unwrapsOutput = { 'USDC to SOL': 'simulation_failed' } as const;
/**
 * An associated account of Token-2022 never changes its owner, so the call and the swap fail.
 */
const immutable = { 'USDC to PYUSD': 'simulation_failed' } as const;
/** An account with a balance cannot be closed unless the balance is wrapped SOL. */
const closesSource = { 'wrapped SOL to USDC': 'guard' } as const;
const closesOutput = { 'USDC to wrapped SOL': 'guard' } as const;
/** The account that the swap creates holds no more than the swap may take. */
const boundedSource = { 'SOL to USDC': { atOnce: 'runs', late: 'runs' } } as const;

const guarded = { atOnce: 'guard', late: 'fails' } as const;
const cannotRun = { atOnce: 'simulation_failed', late: 'fails' } as const;
const repaired = { atOnce: 'inner_token', late: 'runs' } as const;

const attacks: readonly Attack[] = [
  {
    does: 'approves a delegate on the source',
    modes: [MODE.approve],
    target: onSource,
    ...repaired,
  },
  {
    does: 'approves a delegate on the output',
    modes: [MODE.approve],
    target: onOutput,
    ...repaired,
  },
  {
    does: 'takes the source account',
    modes: [MODE.setOwner],
    target: onSource,
    ...guarded,
    but: unwrapsSource,
  },
  {
    does: 'takes the output account',
    modes: [MODE.setOwner],
    target: onOutput,
    ...guarded,
    but: { ...unwrapsOutput, ...immutable },
  },
  {
    does: 'sets a close authority on the source',
    modes: [MODE.setCloseAuthority],
    target: onSource,
    ...guarded,
    but: unwrapsSource,
  },
  {
    does: 'sets a close authority on the output',
    modes: [MODE.setCloseAuthority],
    target: onOutput,
    ...guarded,
    but: unwrapsOutput,
  },
  { does: 'assigns the wallet', modes: [MODE.assignWallet], ...guarded },
  { does: 'pays one unit less', modes: [MODE.underpay], ...guarded },
  { does: 'pays far less', modes: [MODE.underpay], amount: 300_000n, ...guarded },
  { does: 'takes all SOL', modes: [MODE.takeSol], ...guarded },
  { does: 'takes some SOL', modes: [MODE.takeSol], amount: 150_000n, ...guarded },
  {
    does: 'closes the source',
    modes: [MODE.closeAccount],
    target: onSource,
    ...cannotRun,
    but: closesSource,
  },
  {
    does: 'closes the output',
    modes: [MODE.closeAccount],
    target: onOutput,
    ...cannotRun,
    but: closesOutput,
  },
  { does: 'takes all of the source', modes: [MODE.overcharge], ...guarded, but: boundedSource },
  { does: 'pays another wallet', modes: [MODE.misdirect], ...guarded },
  { does: 'fails', modes: [MODE.fail], amount: 6001n, ...cannotRun },
  { does: 'burns all compute', modes: [MODE.burnCompute], ...cannotRun },
  {
    does: 'empties and closes the source',
    modes: [MODE.overcharge, MODE.closeAccount],
    ...guarded,
    but: unwrapsSource,
  },
  {
    does: 'sets a close authority on the output and takes it',
    modes: [MODE.setCloseAuthority, MODE.setOwner],
    ...guarded,
    but: { ...unwrapsOutput, ...immutable },
  },
  {
    does: 'pays another wallet and closes the output',
    modes: [MODE.misdirect, MODE.closeAccount],
    target: onOutput,
    ...cannotRun,
    // The output account is new and empty.
    but: { ...closesOutput, 'USDC to PYUSD': 'guard' },
  },
  {
    does: 'takes SOL and assigns the wallet',
    modes: [MODE.takeSol, MODE.assignWallet],
    ...guarded,
  },
  {
    does: 'takes all of the source and approves a delegate on it',
    modes: [MODE.overcharge, MODE.approve],
    ...guarded,
    but: { 'SOL to USDC': repaired },
  },
  {
    does: 'pays one unit less and takes a lamport',
    modes: [MODE.underpay, MODE.takeSol],
    amount: 1n,
    ...guarded,
  },
];

/** Attacks on another account of the wallet, which the instruction must name. */
const reaching: readonly Pick<Attack, 'does' | 'modes' | 'target'>[] = [
  { does: 'drains another account', modes: [MODE.drainOther] },
  { does: 'approves a delegate on another account', modes: [MODE.approve], target: onOther },
  { does: 'takes another account', modes: [MODE.setOwner], target: onOther },
  {
    does: 'sets a close authority on another account',
    modes: [MODE.setCloseAuthority],
    target: onOther,
  },
  { does: 'closes another account', modes: [MODE.closeAccount], target: onOther },
  {
    does: 'drains another account and approves a delegate',
    modes: [MODE.drainOther, MODE.approve],
  },
];

function outcomeOf(
  { atOnce, late, but }: Attack,
  direction: DirectionName,
): { readonly atOnce: AtOnce; readonly late: Landed } {
  const exception = but?.[direction];
  if (exception === undefined) return { atOnce, late };
  return typeof exception === 'string' ? { atOnce: exception, late } : exception;
}

/** An attack in a swap. The parts of the title come first. */
type Case = readonly [
  form: FormName,
  direction: DirectionName,
  does: string,
  atOnce: AtOnce,
  late: Landed,
  attack: Attack,
];

function caseOf(form: FormName, direction: DirectionName, attack: Attack): Case {
  const { atOnce, late } = outcomeOf(attack, direction);
  return [form, direction, attack.does, atOnce, late, attack];
}

/**
 * Each attack in each direction, in the form whose turn it is, so any two of the three meet. The
 * guard knows no form, only the bounds that the form gives.
 */
const casesAt = (turn: number) =>
  directionNames.flatMap((direction, row) =>
    attacks.map((attack, column) => caseOf(formAt(turn + row + column), direction, attack)),
  );
const [fromTheStart, afterRewrite, byTheClock] = [casesAt(0), casesAt(1), casesAt(2)];
const thatAtOnce = (wanted: (atOnce: AtOnce) => boolean) =>
  share(fromTheStart, eachNth(fromTheStart, 9)).filter(([, , , atOnce]) => wanted(atOnce));
const thatLate = (cases: readonly Case[], wanted: Landed) =>
  share(cases, eachNth(cases, 9, wanted === 'runs' ? 0 : 1)).filter(
    ([, , , , late]) => late === wanted,
  );

const sent = () => sandbox.controls.node.calls({ method: 'sendTransaction' });
const fresh = (direction: Direction) => traderOn(sandbox, rpc, direction.wrapped);
const extraFor = (direction: DirectionName) => reach.get(direction) ?? [];

/** Unchanged wallets of earlier tests by direction, which a later test can use again. */
const idle = new Map<DirectionName, Trader>();

/** Runs a test that must leave the wallet unchanged. */
async function unmoved(
  direction: DirectionName,
  test: (trader: Trader) => Promise<void>,
): Promise<void> {
  const trader = idle.get(direction) ?? (await fresh(directions[direction]));
  idle.delete(direction);
  await test(trader);
  idle.set(direction, trader);
}

async function refused(trader: Trader, swap: () => Promise<unknown>) {
  const before = { holdings: trader.holdings(), sent: sent(), signed: trader.signed.length };
  const error = await failureOf(swap());
  expect({ holdings: trader.holdings(), sent: sent(), signed: trader.signed.length }).toEqual(
    before,
  );
  expectUntouched(error);
  return error;
}

describe('a venue that is hostile from the start', () => {
  it.each(thatAtOnce((atOnce) => atOnce === 'simulation_failed'))(
    'gets no signature for %s, %s, because the swap cannot run when it %s',
    (form, direction, _does, _atOnce, _late, attack) =>
      unmoved(direction, async (trader) => {
        setVenue(attack);
        const error = await refused(trader, () =>
          trader.sign(form, directions[direction], extraFor(direction)),
        );
        expect(error.code).toBe('simulation_failed');
      }),
  );

  it.each(thatAtOnce((atOnce) => atOnce !== 'simulation_failed' && atOnce !== 'runs'))(
    'gets no signature for %s, %s, when it %s: rule %s',
    (form, direction, _does, atOnce, _late, attack) =>
      unmoved(direction, async (trader) => {
        setVenue(attack);
        const error = await refused(trader, () =>
          trader.sign(form, directions[direction], extraFor(direction)),
        );
        expect(error).toMatchObject({ code: 'unsafe_swap', details: { rule: atOnce } });
      }),
  );

  const inReach = directionNames.flatMap((direction, row) =>
    reaching.map(
      (attack, column) => [formAt(row + column), direction, attack.does, attack] as const,
    ),
  );
  it.each(share(inReach, eachNth(inReach, 3)))(
    'gets no signature for %s, %s, when it %s: rule exposed_account',
    (form, direction, _does, attack) =>
      unmoved(direction, async (trader) => {
        setVenue(attack);
        const extra = [...extraFor(direction), trader.stash];
        const error = await refused(trader, () => trader.sign(form, directions[direction], extra));
        expect(error).toMatchObject({ code: 'unsafe_swap', details: { rule: 'exposed_account' } });
      }),
  );

  it.each(thatAtOnce((atOnce) => atOnce === 'runs'))(
    'gets at most the quoted maximum from %s, %s, when it %s',
    async (form, name, _does, _atOnce, _late, attack) => {
      const direction = directions[name];
      const trader = await fresh(direction);
      setVenue(attack);
      const signed = await trader.sign(form, direction, extraFor(name));
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual(
        movedBy(attack, form, direction),
      );
    },
  );
});

/** Returns the amounts of an honest price; an overcharge takes the maximal input. */
function movedBy({ modes }: Attack, form: FormName, { amounts }: Direction): Moved {
  return {
    spent: modes.includes(MODE.overcharge) ? boundsOf(form, amounts).maxIn : amounts.input,
    gained: amounts.output,
  };
}

/** The venue is honest in the simulation and hostile when the same signed bytes land. */
describe.each([
  ['by a rewritten config', afterRewrite, { before: () => undefined, after: setVenue }],
  [
    'by the clock',
    byTheClock,
    {
      before: ({ modes, ...rest }: Attack) =>
        setVenue({ ...rest, modes: [MODE.onlyWhenLate, ...modes], afterSlot: sandbox.chain.slot }),
      after: () => sandbox.controls.node.warp(1),
    },
  ],
] as const)(
  'a venue that turns hostile %s after the signature',
  (_how, cases, { before, after }) => {
    it.each(thatLate(cases, 'fails'))(
      'gets nothing from %s, %s, when it %s, and the wallet pays the network fee',
      (form, direction, _does, atOnce, _late, attack) =>
        unmoved(direction, async (trader) => {
          before(attack);
          const signed = await trader.sign(form, directions[direction], extraFor(direction));
          after(attack);
          const failed = await landAndExpectFeeOnly(sandbox, trader, signed);
          expect(failed === 'guard').toBe(atOnce === 'guard');
        }),
    );

    it.each(thatLate(cases, 'runs'))(
      'gets no more than the terms from %s, %s, when it %s, and keeps no right',
      async (form, name, _does, _atOnce, _late, attack) => {
        const direction = directions[name];
        const trader = await fresh(direction);
        before(attack);
        const signed = await trader.sign(form, direction, extraFor(name));
        after(attack);
        expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual(
          movedBy(attack, form, direction),
        );
      },
    );
  },
);

unsampled('a signed swap', () => {
  it.each(swapsAt(0))(
    'lands when the price moves by less than the slippage (%s, %s)',
    async (form, name) => {
      const direction = directions[name];
      const { input, output } = direction.amounts;
      const trader = await fresh(direction);
      const lateDeviationBps = isExactOut(form) ? 49 : -49;
      setVenue({ lateDeviationBps, afterSlot: sandbox.chain.slot });
      const signed = await trader.sign(form, direction);
      sandbox.controls.node.warp(1);
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual(
        isExactOut(form)
          ? { spent: (input * 10_049n + 9_999n) / 10_000n, gained: output }
          : { spent: input, gained: (output * 9_951n) / 10_000n },
      );
    },
  );

  it.each(swapsAt(2))(
    'fails when the price moves by more than the slippage (%s, %s)',
    (form, name) =>
      unmoved(name, async (trader) => {
        setVenue({ lateDeviationBps: isExactOut(form) ? 51 : -51, afterSlot: sandbox.chain.slot });
        const signed = await trader.sign(form, directions[name]);
        sandbox.controls.node.warp(1);
        expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('swap');
      }),
  );

  it.each(swapsAt(0).filter(([form]) => isExactOut(form)))(
    'lands when the venue takes the slippage of the input (%s, %s)',
    async (form, name) => {
      const direction = directions[name];
      const { input, mostInput, output } = direction.amounts;
      const trader = await fresh(direction);
      const signed = await trader.sign(form, direction, extraFor(name));
      setVenue({ modes: [MODE.overcharge], amount: mostInput - input });
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual({
        spent: mostInput,
        gained: output,
      });
    },
  );

  // The account that the swap creates for native SOL holds no more, so this direction is left out.
  it.each(swapsAt(1).filter(([, name]) => name !== 'SOL to USDC'))(
    'fails when the venue takes a unit more than the slippage (%s, %s)',
    (form, name) =>
      unmoved(name, async (trader) => {
        const { input, mostInput } = directions[name].amounts;
        const signed = await trader.sign(form, directions[name], extraFor(name));
        setVenue({
          modes: [MODE.overcharge],
          amount: (isExactOut(form) ? mostInput - input : 0n) + 1n,
        });
        expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
      }),
  );

  /** Lamports that the venue may take as slippage of a native input or output. */
  const slack = (form: FormName, name: DirectionName): bigint => {
    if (name === 'SOL to USDC' && isExactOut(form)) return 100_000n;
    if (name === 'USDC to SOL' && !isExactOut(form)) return 100_000n;
    return 0n;
  };

  const withSlack = formNames
    .flatMap((form) => directionNames.map((name) => [form, name] as const))
    .filter((swap) => slack(...swap) > 0n);

  it.each([...swapsAt(2).filter((swap) => slack(...swap) === 0n), ...withSlack])(
    'fails when the venue takes a lamport more than the slippage in SOL (%s, %s)',
    (form, name) =>
      unmoved(name, async (trader) => {
        const signed = await trader.sign(form, directions[name], extraFor(name));
        setVenue({ modes: [MODE.takeSol], amount: slack(form, name) + 1n });
        expect(await landAndExpectFeeOnly(sandbox, trader, signed)).toBe('guard');
      }),
  );

  it.each(withSlack)(
    'lands when the venue takes the slippage in SOL (%s, %s)',
    async (form, name) => {
      const direction = directions[name];
      const { maxIn, minOut } = boundsOf(form, direction.amounts);
      const trader = await fresh(direction);
      const signed = await trader.sign(form, direction, extraFor(name));
      setVenue({ modes: [MODE.takeSol], amount: slack(form, name) });
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual({
        spent: maxIn,
        gained: minOut,
      });
    },
  );
});
