import type { CapUse } from '../../src/index.js';
import type { Attempt } from '../../src/journal/types.js';
import { understood } from './instructions.js';
import type { Machine } from './machine.js';
import { accountOf, WALLET } from './places.js';
import { itemOf, type Limit, type Part, type Plan } from './plan.js';
import { limitOf, measure, outsOf, shown, FINE, type Out } from './truth.js';
import type { Traffic } from './traffic.js';
import { fundsAgree } from './told.js';
import type { World } from './world.js';

/** A promise that the chain shows to be broken. */
export interface Broken {
  readonly promise:
    | 'paid once'
    | 'within caps'
    | 'spent tells all'
    | 'spent tells no more'
    | 'errors tell of funds'
    | 'all is decided'
    | 'receipts are true'
    | 'only known instructions'
    | 'sent as often as is safe'
    | 'payments stay with their sellers'
    | 'sellers can be paid'
    | 'keys are shown to no caller'
    | 'asks no more than it must'
    | 'answers in time'
    | 'goes on'
    | 'throws what it says';
  readonly how: string;
}

/** What `spent()` said, and when. */
export interface Said {
  readonly from: { readonly at: number; readonly wall: number };
  readonly to: { readonly at: number; readonly wall: number };
  readonly uses: readonly CapUse[];
}

/** Reads the chain after a run, and holds it against what is promised. */
export function judge(
  world: World,
  machine: Machine,
  said: readonly Said[],
  attempts: readonly Attempt[],
  left: readonly string[],
): Broken[] {
  const { plan, ledger, tokens } = world;
  const outs = outsOf(ledger.all(), machine, tokens);
  return [
    ...onceEach(plan, outs),
    ...withinCaps(plan, machine, outs),
    ...said.flatMap((one) => tellsAll(plan, outs, one)),
    ...countsNoMore(plan, outs, said[said.length - 1]),
    ...decided(plan, attempts, outs),
    ...fundsAgree(world, outs),
    ...left.map((one) => ({ promise: 'all is decided' as const, how: `${one} is left` })),
    ...(plan.isService ? [] : sentSafely(world.traffic)),
    ...stays(world, machine),
    ...wasPaid(world, outs),
    ...endsSoon(world),
    ...world.leaks.map((how) => ({ promise: 'keys are shown to no caller' as const, how })),
    ...world.misfits().map((how) => ({ promise: 'sellers can be paid' as const, how })),
    ...machine.signed.flatMap(({ message, intent }) => {
      const how = understood(message, intent, tokens);
      return how === undefined ? [] : [{ promise: 'only known instructions' as const, how }];
    }),
  ];
}

/** How often a call without a payment is sent, retries included, if its method changes nothing. */
const MOST_ASKS = 3;

/**
 * A request that a seller may act on twice, or that has a payment, is sent once a call; one that
 * changes nothing a few times.
 */
function sentSafely({ calls, handed, asked, shown }: Traffic): Broken[] {
  const broken: Broken[] = [];
  const add = (how: string) => void broken.push({ promise: 'sent as often as is safe', how });
  const most = (place: string) => {
    const [path = ''] = place.split('&moved');
    const [own, posted] = [calls.get(path) ?? 0, calls.get(path.replace('GET', 'POST')) ?? 0];
    // What a redirect made of a POST is sent as often as that was.
    return path.startsWith('GET') ? MOST_ASKS * own + posted : own;
  };
  for (const [place, count] of asked)
    if (count > most(place)) add(`${place} came ${count} times, of ${most(place)} at most`);
  for (const [signature, all] of shown) {
    const own = handed.get(signature);
    const mayRepeat = all.every(({ method, hasId }) => method === 'GET' || hasId);
    if (own !== undefined ? all.length > own : !mayRepeat && all.length > 1)
      add(
        `payment ${signature} came ${all.length} times${own === undefined ? '' : `, and its caller sent it ${own} times`}`,
      );
  }
  return broken;
}

function stays({ traffic }: World, { signed }: Machine): Broken[] {
  const hosts = new Map(
    signed.flatMap(({ signature, intent }) =>
      intent.kind === 'payment' ? [[signature, new URL(intent.url).host]] : [],
    ),
  );
  return [...traffic.shown].flatMap(([signature, all]) =>
    all
      .filter(({ host }) => host !== hosts.get(signature))
      .map(({ host }) => ({
        promise: 'payments stay with their sellers' as const,
        how: `the payment ${signature} for ${hosts.get(signature)} came to ${host}`,
      })),
  );
}

/** What a service calls settled was paid: to that payee, in that token, as much. */
function wasPaid({ plan, settled }: World, outs: readonly Out[]): Broken[] {
  if (mayBeDropped(plan)) return [];
  return settled
    .filter(({ payTo, mint, amount }) => {
      const pays = ({ payments, signed: { intent } }: Out) =>
        payments > 0n &&
        intent.kind === 'payment' &&
        intent.payTo === payTo &&
        intent.mint === mint &&
        intent.amount === amount;
      return !outs.some(pays);
    })
    .map(({ payTo, mint, amount }) => ({
      promise: 'receipts are true',
      how: `the service called ${amount} of ${mint} to ${payTo} settled, and nothing like it is on the chain`,
    }));
}

/**
 * What was confirmed counts as settled, also if its fork is dropped after that: caps count too much
 * then, and nothing is paid twice.
 */
function mayBeDropped({ parts }: Plan): boolean {
  return parts.some(({ kind }) => kind === 'fork');
}

/** How many tokens that are not pinned are priced for the offers of one 402. */
const MOST_STRANGE = 3;
/** Half a minute to choose, and what is asked before of earlier payments for the same. */
const MOST_CHOOSING_MS = 60_000;
/** Steps of the journal come before that, and each of them may take its time. */
const MOST_ASKING_MS = 60_000;

/**
 * Calls ask Jupiter about few tokens that are their sellers' own, and choose in time. What a wallet
 * holds, it may sell.
 */
function endsSoon({ plan, tokens, ledger, work: { spells, choices } }: World): Broken[] {
  const strange = new Set(
    tokens
      .filter(
        ({ worth, mint, program }) =>
          worth === 0n &&
          ledger.account(accountOf(WALLET, mint, program), ledger.slot()) === undefined,
      )
      .map(({ mint }) => mint),
  );
  const longest = Math.max(0, ...choices);
  const isLate = plan.parts.some(({ kind }) => kind === 'port');
  return [
    ...spells.flatMap(({ calls, prices, mints }): Broken[] => {
      const asked = [...mints].filter((mint) => strange.has(mint)).length;
      // A service is handed what its caller was answered with.
      const terms = Math.max(calls, prices);
      if (asked <= MOST_STRANGE * terms) return [];
      return [
        {
          promise: 'asks no more than it must',
          how: `Jupiter was asked about ${asked} tokens of sellers for ${terms} of their 402s`,
        },
      ];
    }),
    ...(longest > MOST_CHOOSING_MS + (isLate ? MOST_ASKING_MS : 0)
      ? [{ promise: 'answers in time' as const, how: `choosing took ${seconds(longest)} s` }]
      : []),
  ];
}

function onceEach({ resign }: Plan, outs: readonly Out[]): Broken[] {
  const payments = new Map<string, Out[]>();
  for (const out of outs) {
    if (out.payments === 0n || out.signed.intent.kind !== 'payment') continue;
    const item = itemOf(out.signed.intent.url);
    payments.set(item, [...(payments.get(item) ?? []), out]);
  }
  return [...payments]
    .filter(([, all]) => all.length > 1 + resign)
    .map(([item, all]) => ({
      promise: 'paid once',
      how: `item ${item} was paid ${all.length} times: signed at ${all.map(({ signed }) => seconds(signed.at)).join(', ')}, landed at ${all.map(({ landed }) => seconds(landed.at)).join(', ')}`,
    }));
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** Fees count in dollars as long as SOL has a price. */
function countsFees({ parts }: Plan): boolean {
  return !parts.some(
    (part) => part.kind === 'market' && ['isDown', 'hanging', 'gone'].includes(part.what),
  );
}

/** About as long as a blockhash lives. */
const LIFE_MS = 90_000;

/**
 * A clock that jumps moves what is in a window by as much. What was confirmed counts from then,
 * also if its fork is dropped and it lands anew within the life of its blockhash.
 */
function slackOf({ parts }: Plan): number {
  const slack = (part: Part) =>
    part.kind === 'jump' ? Math.abs(part.ms) : part.kind === 'fork' ? LIFE_MS : 0;
  return parts.reduce((sum, part) => sum + slack(part), 0);
}

type Moment = Pick<Said['to'], 'at' | 'wall'>;

function inWindow(
  plan: Plan,
  outs: readonly Out[],
  { windowMs, host }: Pick<Limit, 'windowMs' | 'host'>,
  from: Moment,
  to: Moment,
): readonly Out[] {
  const window = (windowMs ?? Infinity) - slackOf(plan);
  return outs.filter(({ landed, host: own }) => {
    const isYoung = landed.at > to.at - window && landed.wall > to.wall - window;
    return landed.at <= from.at && isYoung && (host === undefined || host === own);
  });
}

function withinCaps(plan: Plan, machine: Machine, outs: readonly Out[]): Broken[] {
  const broken: Broken[] = [];
  const fees = countsFees(plan);
  for (const limit of plan.limits) {
    const { unit, windowMs, host } = limit;
    const groups =
      windowMs === 0
        ? onePayments(outs, machine)
        : outs.map(({ landed }) => inWindow(plan, outs, limit, landed, landed));
    const sums = groups.map((group) =>
      group.reduce((sum, out) => sum + measure(out, unit, fees), 0n),
    );
    const most = sums.reduce((a, b) => (a > b ? a : b), 0n);
    if (most <= limitOf(limit)) continue;
    const over =
      windowMs === 0 ? 'one payment' : windowMs === undefined ? 'all' : `${windowMs / 1000} s`;
    const how = `${shown(unit, most)} left in ${over}${host === undefined ? '' : ` for ${host}`}, and the limit is ${shown(unit, limitOf(limit))}`;
    broken.push({ promise: 'within caps', how });
  }
  return broken;
}

/**
 * What left for each payment: a call may pay again once it is proved that the payment before never
 * lands, or if its caller allows one more.
 */
function onePayments(
  outs: readonly Out[],
  { signed, paymentsOf }: Machine,
): readonly (readonly Out[])[] {
  const groups = new Map<string, Out[]>();
  for (const out of outs) {
    const before = signed.filter(
      (one) => paymentsOf.get(one.signature) === out.attempt && one.at < out.signed.at,
    );
    const name = `${out.attempt} ${before.length}`;
    groups.set(name, [...(groups.get(name) ?? []), out]);
  }
  return [...groups.values()];
}

function tellsAll(plan: Plan, outs: readonly Out[], { from, to, uses }: Said): Broken[] {
  const fees = countsFees(plan);
  return uses.flatMap(({ cap, unit, used, windowMs, host }) => {
    // Within one millisecond, what was said may have been so before what landed did.
    const earlier = inWindow(plan, outs, { windowMs, host }, from, to).filter(
      ({ landed }) => landed.at < from.at,
    );
    const truth = earlier.reduce((sum, out) => sum + measure(out, unit, fees), 0n);
    const told = unit === 'USD' ? microOf(used) * FINE : BigInt(used);
    if (told >= truth) return [];
    const how = `${cap} is ${shown(unit, told)} at ${seconds(to.at)}, and ${shown(unit, truth)} had left by ${seconds(from.at)}`;
    return [{ promise: 'spent tells all' as const, how }];
  });
}

/**
 * What was only reserved, or never landed, counts no more in the end. What swaps take in dollars is
 * counted with care, and may be less in truth.
 */
function countsNoMore(plan: Plan, outs: readonly Out[], said: Said | undefined): Broken[] {
  if (said === undefined || mayBeDropped(plan)) return [];
  const isSwapped = outs.some(({ swaps }) => swaps > 0n);
  return said.uses.flatMap(({ cap, unit, used, host }) => {
    const all = outs.filter((out) => host === undefined || out.host === host);
    const left = (out: Out) => (unit === 'lamports' ? out.gross : measure(out, unit, true));
    const truth = all.reduce((sum, out) => sum + left(out), 0n);
    const told = unit === 'USD' ? microOf(used) * FINE : BigInt(used);
    // Rounded up a few times, at what a market takes for it.
    const most = unit === 'USD' ? (truth * 102n) / 100n + BigInt(3 * all.length) * FINE : truth;
    if (told <= most || (unit === 'USD' && isSwapped)) return [];
    const how = `${cap} is ${shown(unit, told)} in the end, and ${shown(unit, truth)} had left`;
    return [{ promise: 'spent tells no more' as const, how }];
  });
}

function microOf(dollars: string): bigint {
  const [whole = '0', part = ''] = dollars.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0').slice(0, 6));
}

function decided(plan: Plan, attempts: readonly Attempt[], outs: readonly Out[]): Broken[] {
  const landed = new Set(
    outs.filter(({ payments }) => payments > 0n).map(({ signed }) => signed.signature),
  );
  return attempts.flatMap(({ id, state, payment }): Broken[] => {
    if (['signed', 'reserved', 'abandoned'].includes(state))
      return [{ promise: 'all is decided', how: `${id} is still ${state}` }];
    if (payment === undefined) return [];
    if (
      landed.has(payment.payerSignature) === (state === 'settled') ||
      (state === 'settled' && mayBeDropped(plan))
    )
      return [];
    return [
      {
        promise: 'receipts are true',
        how: `${id} is ${state}, and its payment ${payment.payerSignature} is${state === 'settled' ? ' not' : ''} on the chain`,
      },
    ];
  });
}
