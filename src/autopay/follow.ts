import type { Emit } from '../events.js';
import type { Hold } from '../journal/ledger.js';
import type { Attempt } from '../journal/types.js';
import type { Receipt } from '../receipt.js';
import type { Core } from './core.js';
import { claimOf, findPayment, type Verdict } from './find-payment.js';

// The facilitator has waited for confirmation before the answer, so the first look mostly suffices.
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

/** An attempt that is signed, its receipt as it stands, and what it holds of the balance. */
export interface Open {
  attempt: Attempt & { readonly payment: NonNullable<Attempt['payment']>; readonly receipt: Receipt };
  readonly hold: Hold | undefined;
  /** Transactions that were looked at and are not this payment. */
  readonly seen: Set<string>;
}

/** Follows a signed payment in the background until the chain decides or the client closes. Never rejects. */
export async function follow(core: Core, open: Open, emit: Emit): Promise<void> {
  const { runtime } = core.config;
  const { signal } = core.closing;
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      if (await decide(core, open, emit, signal)) return;
      await runtime.idle(wait, signal);
    } catch {
      // A node that does not answer decides nothing: ask again later. Closing ends the loop above.
      await runtime.idle(wait, signal).catch(() => undefined);
    }
  }
}

/** Asks the chain once, and closes the attempt if it has decided. */
export async function decide(core: Core, open: Open, emit: Emit, signal: AbortSignal): Promise<boolean> {
  const verdict = await findPayment(core.rpc, open.attempt.payment, claimOf(open.attempt), open.seen, signal);
  if (verdict.state === 'open') return false;
  await closeAttempt(core, open, verdict, emit);
  return true;
}

async function closeAttempt(core: Core, open: Open, verdict: Exclude<Verdict, { state: 'open' }>, emit: Emit): Promise<void> {
  const { attempt, hold } = open;
  const settled = verdict.state === 'settled';
  const receipt: Receipt = {
    ...attempt.receipt,
    state: verdict.state,
    payment: settled ? { ...attempt.receipt.payment, signature: verdict.signature } : attempt.receipt.payment,
  };
  await core.journal.put((open.attempt = { ...attempt, state: verdict.state, receipt }));
  if (settled) hold?.spend();
  else {
    hold?.release();
    // It may have been taken off the known balance on the seller's word.
    core.wallet.ledger.forget(attempt.payment.source);
  }
  emit(settled ? 'payment.settled' : 'payment.unsettled', { receipt });
}
