import type { CapUse } from '../../src/index.js';
import type { Attempt } from '../../src/journal/types.js';
import { understood } from './instructions.js';
import type { Machine } from './machine.js';
import { accountOf, OWN_MINTS, WALLET } from './places.js';
import { callersOf, itemOf, type Limit, type Part, type Plan } from './plan.js';
import { limitOf, measure, spendingsOf, shown, MICRO_USD_PARTS, type Spending } from './truth.js';
import type { Traffic } from './traffic.js';
import { fundsAgree, untrueSwaps } from './told.js';
import type { World } from './world.js';

/** A promise of the library that the run broke. */
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

/** An answer of `spent()`, with the times before and after the call. */
export interface SpentAnswer {
  readonly from: { readonly at: number; readonly wall: number };
  readonly to: { readonly at: number; readonly wall: number };
  readonly uses: readonly CapUse[];
}

/** Compares the chain after a run with the library's promises, and returns the broken promises. */
export function judge(
  world: World,
  machine: Machine,
  said: readonly SpentAnswer[],
  attempts: readonly Attempt[],
  left: readonly string[],
): Broken[] {
  const { plan, ledger, tokens } = world;
  const everything = spendingsOf(ledger.all(), machine, tokens);
  const outs = everything.filter(({ signed }) => !machine.uncounted.has(signed.signature));
  return [
    ...onceEach(plan, outs),
    ...resignsNoSettled(world, machine, attempts),
    ...withinCaps(plan, machine, outs),
    ...said.flatMap((answer) => tellsAll(plan, outs, answer)),
    ...countsNoMore(plan, outs, said[said.length - 1]),
    ...decided(plan, attempts, outs),
    ...receiptsAgree(world, attempts, everything),
    ...wasApproved(world, machine),
    ...isSwappedFrom(plan, machine),
    ...fundsAgree(world, everything),
    ...left.map((item) => ({ promise: 'all is decided' as const, how: `${item} is left` })),
    ...(plan.isService ? [] : sentSafely(plan, world.traffic)),
    ...stays(world, machine),
    ...wasPaid(world, outs),
    ...endsSoon(world),
    ...world.leaks.map((how) => ({ promise: 'keys are shown to no caller' as const, how })),
    ...world.lies.map((how) => ({ promise: 'errors tell of funds' as const, how })),
    ...world.misfits().map((how) => ({ promise: 'sellers can be paid' as const, how })),
    ...machine.signed.flatMap(({ message, intent }) => {
      const how = understood(message, intent, tokens, world.relayer);
      return how === undefined ? [] : [{ promise: 'only known instructions' as const, how }];
    }),
  ];
}

/** Most requests without a payment for a call with a safe method, retries included. */
const MOST_ASKS = 3;

/**
 * Checks how often requests are sent. A POST, or a request with a payment, is sent a single time
 * for each call; a GET without a payment a few times.
 */
function sentSafely({ parts }: Plan, { calls, handed, asked, shown }: Traffic): Broken[] {
  const repeatable = new Set(
    parts.flatMap((part) => (part.kind === 'buy' && part.repeatable ? [String(part.item)] : [])),
  );
  const broken: Broken[] = [];
  const add = (how: string) => void broken.push({ promise: 'sent as often as is safe', how });
  const most = (place: string) => {
    const [path = ''] = place.split('&moved');
    const [called, posted] = [calls.get(path) ?? 0, calls.get(path.replace('GET', 'POST')) ?? 0];
    // A redirect may turn a POST into a GET, which then has the limit of the POST.
    return path.startsWith('GET') ? MOST_ASKS * called + posted : called;
  };
  for (const [place, count] of asked)
    if (count > most(place)) add(`${place} came ${count} times, of ${most(place)} at most`);
  for (const [signature, showings] of shown) {
    const sent = handed.get(signature);
    const mayRepeat = showings.every(
      ({ method, hasId, item }) => method === 'GET' || hasId || repeatable.has(item),
    );
    if (sent !== undefined ? showings.length > sent : !mayRepeat && showings.length > 1)
      add(
        `payment ${signature} came ${showings.length} times${sent === undefined ? '' : `, and its caller sent it ${sent} times`}`,
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
  return [...traffic.shown].flatMap(([signature, showings]) =>
    showings
      .filter(({ host }) => host !== hosts.get(signature))
      .map(({ host }) => ({
        promise: 'payments stay with their sellers' as const,
        how: `the payment ${signature} for ${hosts.get(signature)} came to ${host}`,
      })),
  );
}

/** Checks that each offer that the service called settled has a payment on the chain. */
function wasPaid({ plan, settled }: World, outs: readonly Spending[]): Broken[] {
  if (mayBeDropped(plan)) return [];
  return settled
    .filter(({ payTo, mint, amount }) => {
      const pays = ({ payments, signed: { intent } }: Spending) =>
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
 * Returns true if a fork may drop a confirmed payment. The library still counts it as settled:
 * then caps count too much, but nothing is paid twice.
 */
function mayBeDropped({ parts }: Plan): boolean {
  return parts.some(({ kind }) => kind === 'fork');
}

/** Most unpinned tokens that the library prices for the offers of a 402. */
const MOST_STRANGE = 3;
/** Half a minute to choose an offer, plus the requests about earlier payments before it. */
const MOST_CHOOSING_MS = 60_000;
/** Extra time for the steps of a slow journal or signer. */
const MOST_ASKING_MS = 60_000;

/**
 * Checks that calls ask Jupiter about few tokens of sellers, and choose an offer in time. Tokens
 * that the wallet holds are exempt, because a call may sell them.
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
  // A swap that the caller orders may ask about the seller's own token meanwhile.
  const ordered = plan.parts.some(
    (part) => part.kind === 'swap' && [part.input, part.output].includes('own'),
  );
  const isLate = plan.parts.some(({ kind }) => kind === 'port');
  return [
    ...spells.flatMap(({ calls, prices, mints }): Broken[] => {
      const strangeCount = [...mints].filter((mint) => strange.has(mint)).length;
      // The caller of a service requests the 402 itself, so a call may have no price of its own.
      const terms = Math.max(calls, prices);
      if (strangeCount <= MOST_STRANGE * terms + (ordered ? 1 : 0)) return [];
      return [
        {
          promise: 'asks no more than it must',
          how: `Jupiter was asked about ${strangeCount} tokens of sellers for ${terms} of their 402s`,
        },
      ];
    }),
    ...(longest > MOST_CHOOSING_MS + (isLate ? MOST_ASKING_MS : 0)
      ? [{ promise: 'answers in time' as const, how: `choosing took ${seconds(longest)} s` }]
      : []),
  ];
}

function onceEach(plan: Plan, outs: readonly Spending[]): Broken[] {
  const { resign, parts, isService } = plan;
  // Only a key protects a purchase if its process ends before the caller hears that it is paid, and
  // the clock then jumps beyond the time in which an equal call is the same purchase.
  const mayForget = parts.some(({ kind }) => kind === 'kill') && parts.some(isLongJump);
  const withKey = new Map(
    parts.flatMap((part) =>
      part.kind === 'buy' && part.key ? [[String(part.item), `with key ${part.under}`]] : [],
    ),
  );
  const payments = new Map<string, Spending[]>();
  for (const out of outs) {
    if (out.payments === 0n || out.signed.intent.kind !== 'payment') continue;
    const item = itemOf(out.signed.intent.url);
    // The service's callers have a key for each item.
    const name = (isService ? undefined : withKey.get(item)) ?? item;
    payments.set(name, [...(payments.get(name) ?? []), out]);
  }
  return [...payments]
    .filter(([name, paid]) => {
      const callers = isService ? 1 : Math.max(1, callersOf(plan, name));
      const isKeyed = isService ? withKey.has(name) : name.startsWith('with key');
      return paid.length > callers * (1 + resign) && (!mayForget || isKeyed);
    })
    .map(([item, paid]) => ({
      promise: 'paid once',
      how: `item ${item} was paid ${paid.length} times: signed at ${paid.map(({ signed }) => seconds(signed.at)).join(', ')}, landed at ${paid.map(({ landed }) => seconds(landed.at)).join(', ')}`,
    }));
}

/**
 * Checks that no payment leaves once its process has told that the attempt which it resigns has
 * settled. It may be shown again once it has settled itself, or by its caller.
 */
function resignsNoSettled(
  { traffic: { handed } }: World,
  { sent }: Machine,
  attempts: readonly Attempt[],
): Broken[] {
  return attempts.flatMap(({ id, resigns, payment }): Broken[] => {
    const signature = payment?.payerSignature;
    if (signature === undefined || resigns === undefined || handed.has(signature)) return [];
    const isLate = sent.some(
      ({ settled, ...each }) =>
        each.signature === signature && settled.has(resigns) && !settled.has(id),
    );
    if (!isLate) return [];
    return [{ promise: 'paid once', how: `${id} left although ${resigns} had settled before` }];
  });
}

/** Ten times the `retryWindow` of 60 s. */
const UNHEARD_MS = 600_000;

function isLongJump(part: Part): boolean {
  return part.kind === 'jump' && part.ms > UNHEARD_MS;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** Returns true if SOL has a price during the whole run, so that fees count in dollars. */
function countsFees({ parts }: Plan): boolean {
  return !parts.some(
    (part) => part.kind === 'market' && ['isDown', 'hanging', 'gone', 'busy'].includes(part.what),
  );
}

/** Milliseconds for which a blockhash is valid, rounded up. */
const LIFE_MS = 90_000;

/**
 * Returns the milliseconds by which a window may be off. A clock jump shifts it by the jump. A
 * confirmed payment counts from its first landing, but a dropped fork lets it land again while its
 * blockhash is valid.
 */
function slackOf({ parts }: Plan): number {
  const slack = (part: Part) =>
    part.kind === 'jump' ? Math.abs(part.ms) : part.kind === 'fork' ? LIFE_MS : 0;
  return parts.reduce((sum, part) => sum + slack(part), 0);
}

type Moment = Pick<SpentAnswer['to'], 'at' | 'wall'>;

function inWindow(
  plan: Plan,
  outs: readonly Spending[],
  { windowMs, ...place }: Pick<Limit, 'windowMs' | 'host' | 'payee'>,
  from: Moment,
  to: Moment,
): readonly Spending[] {
  const window = (windowMs ?? Infinity) - slackOf(plan);
  return outs.filter((out) => {
    const { landed } = out;
    const isYoung = landed.at > to.at - window && landed.wall > to.wall - window;
    return landed.at <= from.at && isYoung && isAt(out, place);
  });
}

/** Whether a cap for a host or payee counts a transaction. */
function isAt(out: Spending, { host, payee }: Pick<Limit, 'host' | 'payee'>): boolean {
  return (host ?? out.host) === out.host && (payee ?? out.payee) === out.payee;
}

/** Returns the caps for each host or payee in the place of `*`; any other cap as it is. */
function limitsOf(limit: Limit, outs: readonly Spending[]): readonly Limit[] {
  if (limit.host === '*') return unique(outs, 'host').map((host) => ({ ...limit, host }));
  if (limit.payee === '*') return unique(outs, 'payee').map((payee) => ({ ...limit, payee }));
  return [limit];
}

function unique(outs: readonly Spending[], field: 'host' | 'payee'): readonly string[] {
  return [...new Set(outs.map((out) => out[field]))].filter((name) => name !== '');
}

function withinCaps(plan: Plan, machine: Machine, outs: readonly Spending[]): Broken[] {
  const broken: Broken[] = [];
  const fees = countsFees(plan);
  for (const limit of plan.limits.flatMap((each) => limitsOf(each, outs))) {
    const { unit, windowMs, host, payee } = limit;
    const groups =
      windowMs === 0
        ? onePayments(
            outs.filter((out) => isAt(out, limit)),
            machine,
          )
        : outs.map(({ landed }) => inWindow(plan, outs, limit, landed, landed));
    const sums = groups.map((group) =>
      group.reduce((sum, out) => sum + measure(out, unit, fees), 0n),
    );
    const most = sums.reduce((a, b) => (a > b ? a : b), 0n);
    if (most <= limitOf(limit)) continue;
    const place = host ?? payee;
    const over =
      windowMs === 0 ? 'one payment' : windowMs === undefined ? 'all' : `${windowMs / 1000} s`;
    const how = `${shown(unit, most)} left in ${over}${place === undefined ? '' : ` for ${place}`}, and the limit is ${shown(unit, limitOf(limit))}`;
    broken.push({ promise: 'within caps', how });
  }
  return broken;
}

/**
 * Groups transactions by payment. A call may pay again if the chain proves that its earlier payment
 * never lands, or if its caller allows a further payment.
 */
function onePayments(
  outs: readonly Spending[],
  { signed, paymentsOf }: Machine,
): readonly (readonly Spending[])[] {
  const groups = new Map<string, Spending[]>();
  for (const out of outs) {
    const before = signed.filter(
      ({ signature, at }) => paymentsOf.get(signature) === out.attempt && at < out.signed.at,
    );
    const name = `${out.attempt} ${before.length}`;
    groups.set(name, [...(groups.get(name) ?? []), out]);
  }
  return [...groups.values()];
}

function tellsAll(
  plan: Plan,
  outs: readonly Spending[],
  { from, to, uses }: SpentAnswer,
): Broken[] {
  const fees = countsFees(plan);
  return uses.flatMap(({ cap, unit, used, windowMs, host, payee }) => {
    // `spent()` may answer before a transaction lands in the same millisecond.
    const earlier = inWindow(plan, outs, { windowMs, host, payee }, from, to).filter(
      ({ landed }) => landed.at < from.at,
    );
    const truth = earlier.reduce((sum, out) => sum + measure(out, unit, fees), 0n);
    const told = unit === 'USD' ? microOf(used) * MICRO_USD_PARTS : BigInt(used);
    if (told >= truth) return [];
    const how = `${cap} is ${shown(unit, told)} at ${seconds(to.at)}, and ${shown(unit, truth)} had left by ${seconds(from.at)}`;
    return [{ promise: 'spent tells all' as const, how }];
  });
}

/**
 * Checks that caps end without reservations and payments that never landed. Dollar caps are exempt
 * if there were swaps, because the library rounds the cost of swaps up. Caps on lamports are exempt
 * if a swap failed on chain, because it counts at its bound if no node shows what it cost.
 */
function countsNoMore(
  plan: Plan,
  outs: readonly Spending[],
  said: SpentAnswer | undefined,
): Broken[] {
  if (said === undefined || mayBeDropped(plan)) return [];
  // The wallet may hold tokens that only their sellers say the price of.
  const isPriced = Object.keys(plan.funds).some((mint) => OWN_MINTS.includes(mint));
  const isSwapped = isPriced || outs.some(({ swaps }) => swaps > 0n);
  const hasFailed = outs.some(({ landed }) => landed.error !== null);
  return said.uses.flatMap(({ cap, unit, used, host, payee }) => {
    const counted = outs.filter((out) => isAt(out, { host, payee }));
    const left = (out: Spending) => (unit === 'lamports' ? out.gross : measure(out, unit, true));
    const truth = counted.reduce((sum, out) => sum + left(out), 0n);
    const told = unit === 'USD' ? microOf(used) * MICRO_USD_PARTS : BigInt(used);
    // The library rounds up a few times, and adds the market's fee.
    const most =
      unit === 'USD' ? (truth * 102n) / 100n + BigInt(3 * counted.length) * MICRO_USD_PARTS : truth;
    const isExact = unit === 'swaps' || unit === 'payments';
    const isExempt = unit === 'lamports' ? hasFailed : !isExact && isSwapped;
    if (told <= most || isExempt) return [];
    const how = `${cap} is ${shown(unit, told)} in the end, and ${shown(unit, truth)} had left`;
    return [{ promise: 'spent tells no more' as const, how }];
  });
}

function microOf(dollars: string): bigint {
  const [whole = '0', part = ''] = dollars.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0').slice(0, 6));
}

/** Compares receipts with the chain. */
function receiptsAgree(
  world: World,
  attempts: readonly Attempt[],
  outs: readonly Spending[],
): Broken[] {
  const { plan, ledger } = world;
  if (mayBeDropped(plan) || plan.isService) return [];
  return attempts.flatMap(({ id, state, receipt }): Broken[] => {
    if (receipt === undefined) return [];
    const how: string[] = receipt.swap === undefined ? [] : untrueSwaps(world, [receipt.swap]);
    const { payment, cost, swap } = receipt;
    if (receipt.state !== state) how.push(`it is ${receipt.state}, and the attempt ${state}`);
    if (state === 'settled') {
      const landed = ledger.landed(payment.signature ?? '');
      const out = outs.find((spending) => spending.signed.signature === payment.payerSignature);
      const left = out?.tokens.get(payment.mint) ?? 0n;
      if (landed?.error !== null || out?.landed !== landed || left !== BigInt(payment.amount))
        how.push(`its payment is ${left} of ${payment.mint} in ${landed?.id}`);
    }
    const fees = outs
      .filter(
        ({ swaps, attempt, landed }) =>
          swaps > 0n && (attempt === id || landed.id === swap?.signature),
      )
      .reduce((sum, { landed: { fee } }) => sum + fee, 0n);
    if (BigInt(cost.networkFeeLamports) > fees && !plan.parts.some(({ kind }) => kind === 'node'))
      how.push(`its fee is ${cost.networkFeeLamports}, and ${fees} left`);
    return how.map((text) => ({ promise: 'receipts are true', how: `receipt ${id}: ${text}` }));
  });
}

/** Checks that all payments, and all swaps but ordered swaps, fit an approved plan. */
function wasApproved({ plan, approvals }: World, { signed }: Machine): Broken[] {
  if (plan.approves === undefined || plan.isService) return [];
  const left = [...approvals];
  return signed.flatMap(({ signature, intent, order }) => {
    if (order !== undefined) return [];
    const index = left.findIndex(({ url, payment, swap, wrap, relayer }) =>
      intent.kind === 'swap'
        ? intent.inputMint === intent.outputMint
          ? wrap === intent.maxInAmount
          : swap?.inputMint === intent.inputMint &&
            BigInt(swap.maxInAmount) +
              BigInt(relayer?.mint === intent.inputMint ? relayer.maxAmount : 0) >=
              BigInt(intent.maxInAmount)
        : url === intent.url &&
          payment?.mint === intent.mint &&
          payment.amount === intent.amount &&
          payment.payTo === intent.payTo,
    );
    // An approval is for one payment; its swap may be signed again if it comes to nothing.
    if (index >= 0 && intent.kind === 'payment') left.splice(index, 1);
    return index >= 0
      ? []
      : [{ promise: 'within caps' as const, how: `${signature} was not approved: ${intent.kind}` }];
  });
}

function isSwappedFrom({ swapFrom, isService }: Plan, { signed }: Machine): Broken[] {
  if (swapFrom === undefined || isService) return [];
  return signed.flatMap(({ signature, intent, order }) =>
    order !== undefined || intent.kind !== 'swap' || swapFrom.includes(intent.inputMint)
      ? []
      : [{ promise: 'within caps' as const, how: `${signature} swaps from ${intent.inputMint}` }],
  );
}

function decided(plan: Plan, attempts: readonly Attempt[], outs: readonly Spending[]): Broken[] {
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
