import { AccountRole, address, type AccountMeta, type Address } from '@solana/kit';
import type { VenueBehaviour } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODE, TARGET } from '../../adapters/sandbox/venue/venue.mjs';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { failureOf } from '../helpers/payer.js';
import { eachNth, onePerRow, share, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { landsAndMoves, landsForTheFeeAlone, type Moved } from '../helpers/traded.js';
import {
  boundsOf,
  type Direction,
  type DirectionName,
  directionNames,
  directions,
  type FormName,
  formNames,
  isExactOut,
  type Trader,
  traderOn,
} from '../helpers/trader.js';
import { expectUntouched } from '../helpers/untouched.js';

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const SYSTEM: AccountMeta = {
  address: address('11111111111111111111111111111111'),
  role: AccountRole.READONLY,
};

// Time stands still unless a test moves it: what is hostile by the clock must not turn so by
// chance.
const sandbox = await useSandbox({ seed: 'firewall-venue', confirmationMs: 0, slotMs: 0 });
let rpc: Rpc;
/**
 * Whatever an attacker may ask for: the System program, his wallet, and accounts of his for the
 * output and for what he drains.
 */
const reach = new Map<DirectionName, readonly (Address | AccountMeta)[]>();

beforeAll(async () => {
  rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 10_000 });
  const { chain, mints } = sandbox;
  // So that what he gets can lie there: an account without data needs some SOL to exist at all.
  chain.fundSol(ATTACKER, 10_000_000n);
  for (const name of directionNames) {
    const symbols = new Set([directions[name].to, 'USDC'] as const);
    const loot = await Promise.all(
      [...symbols].map((symbol) => chain.fundToken(ATTACKER, mints[symbol], 1n)),
    );
    reach.set(name, [SYSTEM, ATTACKER, ...loot]);
  }
});

afterAll(async () => {
  rpc.close();
});

/**
 * `runs`: the swap goes through. `simulation_failed`: it cannot run, and is not signed. Anything
 * else is the rule that refuses it.
 */
type AtOnce = 'runs' | 'simulation_failed' | 'guard' | 'exposed_account' | 'inner_token';
/**
 * `fails`: all of it is undone. `runs`: the guard has repaired it, or it took no more than agreed.
 */
type Landed = 'runs' | 'fails';

/**
 * Something that a venue does to the wallet. What becomes of it is worked out by hand, and where it
 * differs by direction too.
 */
interface Deed {
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
 * Native SOL is unwrapped before the guard, and that fails if the account is no longer the
 * wallet's to close.
 */
const unwrapsSource = { 'SOL to USDC': 'simulation_failed' } as const;
const unwrapsOutput = { 'USDC to SOL': 'simulation_failed' } as const;
/**
 * An associated account of Token-2022 never changes its owner: the call fails and the swap with it.
 */
const immutable = { 'USDC to PYUSD': 'simulation_failed' } as const;
/** An account with a balance cannot be closed, unless the balance is SOL. */
const closesSource = { 'wrapped SOL to USDC': 'guard' } as const;
const closesOutput = { 'USDC to wrapped SOL': 'guard' } as const;
/** The account that is made for the swap holds no more than the swap may take. */
const boundedSource = { 'SOL to USDC': { atOnce: 'runs', late: 'runs' } } as const;

const guarded = { atOnce: 'guard', late: 'fails' } as const;
const cannotRun = { atOnce: 'simulation_failed', late: 'fails' } as const;
const repaired = { atOnce: 'inner_token', late: 'runs' } as const;

const deeds: readonly Deed[] = [
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
    // It is new and empty.
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

/** What it does to another account of the wallet, which the instruction must name for that. */
const reaching: readonly Pick<Deed, 'does' | 'modes' | 'target'>[] = [
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
  { atOnce, late, but }: Deed,
  direction: DirectionName,
): { readonly atOnce: AtOnce; readonly late: Landed } {
  const other = but?.[direction];
  if (other === undefined) return { atOnce, late };
  return typeof other === 'string' ? { atOnce: other, late } : other;
}

const everySwap = formNames.flatMap((form) =>
  directionNames.map((direction) => [form, direction] as const),
);

/** One deed in one swap. What the title names comes first. */
type Case = readonly [
  form: FormName,
  direction: DirectionName,
  does: string,
  atOnce: AtOnce,
  late: Landed,
  deed: Deed,
];

function caseOf(form: FormName, direction: DirectionName, deed: Deed): Case {
  const { atOnce, late } = outcomeOf(deed, direction);
  return [form, direction, deed.does, atOnce, late, deed];
}

const inEveryForm = directionNames.flatMap((direction) =>
  deeds.flatMap((deed) => formNames.map((form) => caseOf(form, direction, deed))),
);
// What the clock does is the same in every form: each deed and direction has one.
const inOneForm = onePerRow(inEveryForm, formNames.length);
const thatAtOnce = (wanted: (atOnce: AtOnce) => boolean) =>
  share(inEveryForm, eachNth(inOneForm, 6)).filter(([, , , atOnce]) => wanted(atOnce));
const thatLate = (cases: readonly Case[], wanted: Landed) =>
  share(cases, eachNth(inOneForm, 6, wanted === 'runs' ? 0 : 1)).filter(
    ([, , , , late]) => late === wanted,
  );

const setVenue = (behaviour: VenueBehaviour) =>
  sandbox.controls.aggregator.setVenue({ attacker: ATTACKER, ...behaviour });
const sent = () => sandbox.controls.node.calls({ method: 'sendTransaction' });
const fresh = (direction: Direction) => traderOn(sandbox, rpc, direction.wrapped);
const extraFor = (direction: DirectionName) => reach.get(direction) ?? [];

/** Wallets that a test has left as they were, by direction: the next one may have them. */
const idle = new Map<DirectionName, Trader>();

/** Runs a test that must leave the wallet as it was. */
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

describe('a venue that is hostile at once', () => {
  it.each(thatAtOnce((atOnce) => atOnce === 'simulation_failed'))(
    '%s, %s: one that %s cannot run and is not signed',
    (form, direction, _does, _atOnce, _late, deed) =>
      unmoved(direction, async (trader) => {
        setVenue(deed);
        const error = await refused(trader, () =>
          trader.sign(form, directions[direction], extraFor(direction)),
        );
        expect(error.code).toBe('simulation_failed');
      }),
  );

  it.each(thatAtOnce((atOnce) => atOnce !== 'simulation_failed' && atOnce !== 'runs'))(
    '%s, %s: one that %s is refused by %s',
    (form, direction, _does, atOnce, _late, deed) =>
      unmoved(direction, async (trader) => {
        setVenue(deed);
        const error = await refused(trader, () =>
          trader.sign(form, directions[direction], extraFor(direction)),
        );
        expect(error).toMatchObject({ code: 'unsafe_swap', details: { rule: atOnce } });
      }),
  );

  const inReach = directionNames.flatMap((direction) =>
    reaching.flatMap((deed) =>
      formNames.map((form) => [form, direction, deed.does, deed] as const),
    ),
  );
  it.each(share(inReach, onePerRow(inReach, formNames.length)))(
    '%s, %s: one that %s is refused by exposed_account',
    (form, direction, _does, deed) =>
      unmoved(direction, async (trader) => {
        setVenue(deed);
        const extra = [...extraFor(direction), trader.stash];
        const error = await refused(trader, () => trader.sign(form, directions[direction], extra));
        expect(error).toMatchObject({ code: 'unsafe_swap', details: { rule: 'exposed_account' } });
      }),
  );

  it.each(thatAtOnce((atOnce) => atOnce === 'runs'))(
    '%s, %s: one that %s gets the quoted maximum and nothing else',
    async (form, name, _does, _atOnce, _late, deed) => {
      const direction = directions[name];
      const trader = await fresh(direction);
      setVenue(deed);
      const signed = await trader.sign(form, direction, extraFor(name));
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual(
        movedBy(deed, form, direction),
      );
    },
  );
});

/** What an honest price moves, and what a deed takes of the input besides: all that it may. */
function movedBy({ modes }: Deed, form: FormName, { amounts }: Direction): Moved {
  return {
    spent: modes.includes(MODE.overcharge) ? boundsOf(form, amounts).maxIn : amounts.input,
    gained: amounts.output,
  };
}

/** Honest in simulation; the same signed bytes meet a hostile venue. */
describe.each([
  ['by a rewritten config', inEveryForm, { before: () => undefined, after: setVenue }],
  [
    'by the clock',
    inOneForm,
    {
      before: ({ modes, ...rest }: Deed) =>
        setVenue({ ...rest, modes: [MODE.onlyWhenLate, ...modes], afterSlot: sandbox.chain.slot }),
      after: () => sandbox.controls.node.warp(1),
    },
  ],
] as const)('a venue that turns hostile %s once it is signed', (_how, cases, { before, after }) => {
  it.each(thatLate(cases, 'fails'))(
    '%s, %s: one that %s gets nothing, and the wallet pays the network',
    (form, direction, _does, atOnce, _late, deed) =>
      unmoved(direction, async (trader) => {
        before(deed);
        const signed = await trader.sign(form, directions[direction], extraFor(direction));
        after(deed);
        const failed = await landsForTheFeeAlone(sandbox, trader, signed);
        expect(failed === 'guard').toBe(atOnce === 'guard');
      }),
  );

  it.each(thatLate(cases, 'runs'))(
    '%s, %s: one that %s gets no more than agreed and leaves nothing behind',
    async (form, name, _does, _atOnce, _late, deed) => {
      const direction = directions[name];
      const trader = await fresh(direction);
      before(deed);
      const signed = await trader.sign(form, direction, extraFor(name));
      after(deed);
      expect(await landsAndMoves(sandbox, trader, direction, signed)).toEqual(
        movedBy(deed, form, direction),
      );
    },
  );
});

unsampled('what was agreed, to the unit', () => {
  it.each(everySwap)(
    '%s, %s: a price that moves by less than the slippage is paid',
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

  it.each(everySwap)('%s, %s: a price that moves by more than the slippage is not', (form, name) =>
    unmoved(name, async (trader) => {
      setVenue({ lateDeviationBps: isExactOut(form) ? 51 : -51, afterSlot: sandbox.chain.slot });
      const signed = await trader.sign(form, directions[name]);
      sandbox.controls.node.warp(1);
      expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('swap');
    }),
  );

  // The account that is made for native SOL holds no unit more, so that one has no second half.
  const fromToken = everySwap.filter(([, name]) => name !== 'SOL to USDC');

  it.each(everySwap.filter(([form]) => isExactOut(form)))(
    '%s, %s: the slippage of the input can be taken',
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

  it.each(fromToken)('%s, %s: one unit of the input more than that can not', (form, name) =>
    unmoved(name, async (trader) => {
      const { input, mostInput } = directions[name].amounts;
      const signed = await trader.sign(form, directions[name], extraFor(name));
      setVenue({
        modes: [MODE.overcharge],
        amount: (isExactOut(form) ? mostInput - input : 0n) + 1n,
      });
      expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
    }),
  );

  /** Lamports of the wallet that the swap itself may slip: of its native input or output. */
  const slack = (form: FormName, name: DirectionName): bigint => {
    if (name === 'SOL to USDC' && isExactOut(form)) return 100_000n;
    if (name === 'USDC to SOL' && !isExactOut(form)) return 100_000n;
    return 0n;
  };

  it.each(everySwap)(
    '%s, %s: one lamport more than the swap may slip can not be taken',
    (form, name) =>
      unmoved(name, async (trader) => {
        const signed = await trader.sign(form, directions[name], extraFor(name));
        setVenue({ modes: [MODE.takeSol], amount: slack(form, name) + 1n });
        expect(await landsForTheFeeAlone(sandbox, trader, signed)).toBe('guard');
      }),
  );

  it.each(everySwap.filter(([form, name]) => slack(form, name) > 0n))(
    '%s, %s: what it may slip can be',
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
