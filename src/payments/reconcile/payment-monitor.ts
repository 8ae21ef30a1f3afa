import { startDeadline } from '../../internal/deadline.js';
import type { Emit } from '../../events.js';
import type { Wallet } from '../../journal/registry.js';
import type { Attempt } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import type { Core } from '../context.js';
import { fateOf, type Fate } from './fate.js';
import { sentPayment, sourceOf } from './sent-transaction.js';
import { listenTo } from './account-changes.js';
import { ownerOf } from '../owner.js';
import { costFor } from '../execute/receipt-cost.js';
import { save } from '../execute/save-attempt.js';

/** An attempt that is signed, and its receipt as it stands. */
export interface Open {
  attempt: Attempt & { readonly payment: NonNullable<Attempt['payment']>; readonly receipt: Receipt };
  /** Taken from the journal, so others may know more of it by now. */
  readonly isForeign?: boolean;
}

interface Followed {
  readonly open: Open;
  readonly followers: Set<Core>;
}

const followed = new WeakMap<Wallet, Map<string, Followed>>();

/** The record of an attempt as this process follows it already, or a new one: two records of one attempt would undo each other. */
export function openOf({ wallet }: Core, attempt: Open['attempt']): Open {
  return followed.get(wallet)?.get(attempt.id)?.open ?? { attempt, isForeign: true };
}

/** Follows a signed payment in the background until the chain decides or the client closes. Never rejects. */
export async function follow(core: Core, open: Open, emit: Emit): Promise<void> {
  const { id } = open.attempt;
  let all = followed.get(core.wallet);
  if (all === undefined) followed.set(core.wallet, (all = new Map<string, Followed>()));
  const known = all.get(id) ?? { open, followers: new Set() };
  if (known.followers.has(core)) return;
  all.set(id, known);
  known.followers.add(core);
  await watch(core, known.open, emit);
  known.followers.delete(core);
  if (known.followers.size > 0) return;
  all.delete(id);
  // Closed before the chain had decided: nothing is left here to end it, and the tokens may go.
  await core.ledger.spend(open.attempt.payment.source, id).catch(() => undefined);
}

async function watch(core: Core, open: Open, emit: Emit): Promise<void> {
  const { signal } = core.closing;
  const source = sourceOf(open.attempt.payment);
  const listening = listenTo(core.rpc, core.config.runtime, source.account, () => core.histories.outdate(source));
  try {
    for (let look = true; !signal.aborted;) {
      let failed = false;
      if (look || isDecided(open) || (await isPast(core, open, signal).catch(() => true))) {
        const isOver = await decide(core, open, emit, signal).catch(() => undefined);
        if (isOver === true) return;
        // A node or journal that does not answer decides nothing: it is asked again after the next wait, whatever is heard until then.
        failed = isOver === undefined;
      }
      look = (await listening.next(signal)) || failed;
    }
  } finally {
    listening.end();
  }
}

/** Whether it can land no more, as far as one node says: then all of it is looked at. */
async function isPast({ rpc }: Core, { attempt }: Open, signal: AbortSignal): Promise<boolean> {
  return (await rpc.tip('finalized', { signal })).height > BigInt(attempt.payment.lastValidBlockHeight);
}

/** Asks the chain once, and closes the attempt if it has decided. */
export async function decide(core: Core, open: Open, emit: Emit, signal: AbortSignal): Promise<boolean> {
  if (isDecided(open)) return true;
  // Each call of a node has a deadline, but there may be many of them.
  const deadline = startDeadline(core.config.timeouts.payment, signal);
  const { attempt } = open;
  const asked = fateOf(core.histories, sentPayment(attempt, attempt.payment), deadline.signal);
  const verdict = verdictOf(await asked.finally(() => deadline.end()));
  if (verdict === undefined) return false;
  // Another caller may have been told meanwhile.
  if (isDecided(open)) return true;
  await closeAttempt(core, open, verdict, emit);
  return true;
}

/** What the chain made of a payment. */
type Verdict = { readonly state: 'settled'; readonly signature: string; readonly slot: number } | { readonly state: 'unsettled' };

/** A payment that landed and failed is as good as one that never can. */
function verdictOf(fate: Fate): Verdict | undefined {
  if (fate.state === 'open') return undefined;
  if (fate.state === 'never' || fate.error !== null) return { state: 'unsettled' };
  return { state: 'settled', signature: fate.signature, slot: fate.slot };
}

function isDecided({ attempt }: Open): boolean {
  return attempt.state !== 'signed';
}

async function closeAttempt(core: Core, open: Open, verdict: Verdict, emit: Emit): Promise<void> {
  const { id, payment } = open.attempt;
  // First, and again where the write fails: ended twice is ended, and a hold that is never ended would keep its tokens for ever.
  await endHold(core, id, payment.source, verdict);
  const stands = open.isForeign !== true || (await isUpToDate(core, open));
  const told = { first: false };
  const change = (attempt: Open['attempt']) => {
    if (attempt.state !== 'signed') return attempt;
    told.first = true;
    return closed(attempt, verdict, core.config.runtime.now());
  };
  // What is not written down is not decided: it is asked again. What another process has decided meanwhile is written already.
  if (stands) await save(core, open, change);
  else open.attempt = change(open.attempt);
  // Several may have been told at once.
  if (told.first) emit(verdict.state === 'settled' ? 'payment.settled' : 'payment.unsettled', { receipt: open.attempt.receipt });
}

/** Takes over what others have written of an attempt since it was read; false where it is decided. */
async function isUpToDate(core: Core, open: Open): Promise<boolean> {
  const { id, at } = open.attempt;
  for await (const attempt of core.journal.attempts(ownerOf(core), { state: 'signed', since: at })) {
    if (attempt.id !== id) continue;
    const { delivered, tellingAt, toldAt, doubt, receipt = open.attempt.receipt } = attempt;
    const told = { ...(tellingAt === undefined ? {} : { tellingAt }), ...(toldAt === undefined ? {} : { toldAt }) };
    open.attempt = { ...open.attempt, delivered, receipt, ...told, ...(doubt === undefined ? {} : { doubt }) };
    return true;
  }
  return false;
}

/** @param now - Caps over time count what was paid from then. Milliseconds since the epoch. */
function closed(attempt: Open['attempt'], verdict: Verdict, now: number): Open['attempt'] {
  const { receipt } = attempt;
  const { state } = verdict;
  const payment = state === 'settled' ? { ...receipt.payment, signature: verdict.signature } : receipt.payment;
  const cost = costFor(attempt, BigInt(receipt.cost.networkFeeLamports), state === 'settled');
  return { ...attempt, state, leftAt: now, receipt: { ...receipt, state, payment, cost } };
}

async function endHold({ ledger }: Core, id: string, source: string, verdict: Verdict): Promise<void> {
  if (verdict.state === 'settled') return ledger.spend(source, id, verdict.slot);
  await ledger.release(source, id);
  // It may have been taken off the known balance already, when its client closed.
  await ledger.forget(source);
}
