import type { Attempt, SignedSwap } from '../journal/types.js';
import type { Receipt } from '../receipt.js';
import type { Rpc } from '../solana/rpc.js';
import type { Core } from './core.js';
import { decide, follow, openOf } from './follow.js';
import { LEASE_MS } from './lease.js';
import { ownerOf } from './owner.js';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Reservations that this core waits for already. */
const waitedFor = new WeakMap<Core, Set<string>>();

/**
 * Takes up what earlier processes left: the chain is asked about each signed payment, and what was reserved and never signed is freed.
 * What cannot be decided yet is followed in the background. Returns what was decided; throws only where nothing could be asked at all.
 */
export async function resume(core: Core): Promise<Receipt[]> {
  const decided: Receipt[] = [];
  const failures: unknown[] = [];
  let answers = 0;
  for (const attempt of await listed(core, 'signed')) {
    const { payment, receipt } = attempt;
    if (payment === undefined || receipt === undefined) continue;
    const open = openOf(core, { ...attempt, payment, receipt });
    const emit = core.events.emitter(attempt.id);
    try {
      if (await decide(core, open, emit, core.closing.signal)) decided.push(open.attempt.receipt);
      else void follow(core, open, emit);
      answers += 1;
    } catch (error) {
      // One that cannot be asked about must not keep the others waiting.
      failures.push(error);
      void follow(core, open, emit);
    }
  }
  for (const attempt of await listed(core, 'reserved')) {
    if (!(await reclaim(core, attempt).catch(() => false))) void waitFor(core, attempt);
  }
  if (answers === 0 && failures.length > 0) throw failures[0];
  return decided;
}

/** Attempts that no call in this process works at. Read before any is written: a journal may not stand both at once. */
async function listed(core: Core, state: 'signed' | 'reserved'): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of core.journal.attempts(ownerOf(core), state)) {
    if (!core.wallet.active.has(attempt.id)) attempts.push(attempt);
  }
  return attempts;
}

/** Frees what a reservation holds of the caps, once its call must be dead and its swap, where it signed one, can do no more. */
async function reclaim(core: Core, attempt: Attempt): Promise<boolean> {
  if (leaseOf(core, attempt) > 0) return false;
  if (attempt.swap !== undefined && !(await isOver(core.rpc, attempt.swap, core.closing.signal))) return false;
  const now = await listed(core, 'reserved');
  // Another process may have gone on with it, or freed it.
  if (now.some(({ id }) => id === attempt.id)) await core.journal.release(attempt.id);
  return true;
}

/** Milliseconds for which its call may be at work yet, in another process. */
function leaseOf({ config }: Core, { at }: Attempt): number {
  return at + LEASE_MS - config.runtime.now();
}

/** Landed, or past its last height: nothing of it is still to come. */
async function isOver(rpc: Rpc, { signature, lastValidBlockHeight }: SignedSwap, signal: AbortSignal): Promise<boolean> {
  const { height } = await rpc.tip('finalized', { signal });
  if (height > BigInt(lastValidBlockHeight)) return true;
  const [status = null] = await rpc.statuses([signature], { history: true, signal });
  return status !== null && status.commitment !== 'processed';
}

/** Waits in the background until it is freed or the client closes. Never rejects. */
async function waitFor(core: Core, attempt: Attempt): Promise<void> {
  const { runtime } = core.config;
  const { signal } = core.closing;
  let all = waitedFor.get(core);
  if (all === undefined) waitedFor.set(core, (all = new Set()));
  if (all.has(attempt.id)) return;
  all.add(attempt.id);
  try {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      // A clock that was wrong when it was written must not overflow a timer.
      await runtime.idle(Math.min(Math.max(wait, leaseOf(core, attempt)), LEASE_MS), signal);
      if (await reclaim(core, attempt).catch(() => false)) break;
    }
  } catch {
    // Closing ended the wait.
  }
  all.delete(attempt.id);
}
