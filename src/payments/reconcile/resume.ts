import type { Attempt } from '../../journal/types.js';
import type { FreedReceipt, Receipt } from '../../receipt.js';
import type { Core } from '../context.js';
import { decide, follow, openOf, type Open } from './payment-monitor.js';
import { deadOnes, endDecided, endUnpaid, freeDead, toAbandoned } from './orphaned-attempts.js';
import { decidedOutcome, forgetAccounts } from './open-swaps.js';
import { takenUp, tellChanges } from './resumed-changes.js';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

const taken = new WeakMap<Core, Promise<unknown>>();

/** Takes up once, before a core's first payment, what earlier processes left: their payments hold their tokens, their reservations are freed. */
export async function takeUp(core: Core): Promise<void> {
  let work = taken.get(core);
  if (work === undefined) {
    work = takeOver(core).then(({ open, abandoned }) => {
      for (const one of open) void follow(core, one, core.events.emitter(one.attempt.id));
      for (const one of abandoned) void waitForSwap(core, one);
    });
    taken.set(core, work);
    // Asked again by the next call.
    work.catch(() => taken.delete(core));
  }
  await work;
}

/** What was taken up may not be all: the next payment looks again. */
export function takeUpAgain(core: Core): void {
  taken.delete(core);
}

/** Gives back what dead calls reserved and held. Returns whether there was anything. */
export async function freeDeadOnes(core: Core): Promise<boolean> {
  const { freed, abandoned } = await freeDead(core);
  for (const one of abandoned) void waitForSwap(core, one);
  return freed > 0;
}

/**
 * Takes up what earlier processes left: the chain is asked about each signed payment, and what was reserved and never signed is freed.
 * What cannot be decided yet is followed in the background. Returns a record of all that was taken up, by this call or before it, and was decided or freed
 * since it was last asked; throws only if nothing could be asked at all.
 */
export async function resume(core: Core): Promise<(Receipt | FreedReceipt)[]> {
  const failures: unknown[] = [];
  let answers = 0;
  const left = await takeOver(core);
  for (const open of left.open) {
    const emit = core.events.emitter(open.attempt.id);
    try {
      if (!(await decide(core, open, emit, core.closing.signal))) void follow(core, open, emit);
      answers += 1;
    } catch (error) {
      // One that cannot be asked about must not keep the others waiting.
      failures.push(error);
      void follow(core, open, emit);
    }
  }
  for (const one of left.abandoned) if (!(await forgetIfOver(core, one).catch(() => false))) void waitForSwap(core, one);
  if (answers === 0 && failures.length > 0) throw failures[0];
  return tellChanges(core);
}

/** What the chain has to decide. */
interface Left {
  /** Signed payments, each with a hold on its tokens. */
  readonly open: readonly Open[];
  /** Attempts whose swap may still land. */
  readonly abandoned: readonly Attempt[];
}

/** Frees what dead calls reserved, and finds what else they left. */
async function takeOver(core: Core): Promise<Left> {
  const [signed, abandoned] = await Promise.all([deadOnes(core, 'signed'), deadOnes(core, 'abandoned')]);
  const open: Open[] = [];
  for (const attempt of signed) {
    const { payment, receipt, id, amount } = attempt;
    if (payment === undefined || receipt === undefined) continue;
    await core.ledger.hold(payment.source, id, BigInt(amount));
    takenUp(core, attempt);
    open.push(openOf(core, { ...attempt, payment, receipt }));
  }
  for (const attempt of abandoned) takenUp(core, attempt);
  const freed = await freeDead(core);
  return { open, abandoned: [...abandoned, ...freed.abandoned] };
}

/** Frees the budget and the key of an attempt that signed no payment, and keeps its swap on record until it can land no more. */
export async function abandon(core: Core, attempt: Attempt): Promise<void> {
  void waitForSwap(core, await toAbandoned(core, attempt));
}

/** Swaps that a core waits for already. */
const waitedFor = new WeakMap<Core, Set<string>>();

/** Waits in the background until a swap can do no more, then forgets its attempt; or until the client closes. Never rejects. */
async function waitForSwap(core: Core, attempt: Attempt): Promise<void> {
  const { signal } = core.closing;
  const { id } = attempt;
  let all = waitedFor.get(core);
  if (all === undefined) waitedFor.set(core, (all = new Set()));
  if (all.has(id)) return;
  all.add(id);
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const closed = await core.config.runtime.idle(wait, signal).then(
      () => false,
      () => true,
    );
    // A node or journal that does not answer decides nothing: it is asked again.
    if (closed || (await forgetIfOver(core, attempt).catch(() => false))) break;
  }
  all.delete(id);
}

async function forgetIfOver(core: Core, attempt: Attempt): Promise<boolean> {
  const { swap } = attempt;
  if (swap === undefined) {
    await endUnpaid(core, attempt);
    return true;
  }
  const outcome = swap.outcome ?? (await decidedOutcome(core, swap, core.closing.signal));
  if (outcome === undefined) return false;
  await forgetAccounts(core, swap);
  await endDecided(core, attempt, outcome);
  return true;
}
