import { isExactChangeError } from '../errors.js';
import { createEvents } from '../events.js';
import { knownWallet, newWallet } from '../journal/registry.js';
import { isFromService } from '../journal/attempt-names.js';
import { isPaid, type OpenPayment, type SignedAttempt } from '../journal/open-payment.js';
import type { Journal } from '../journal/types.js';
import type { PaymentContext } from '../payments/context.js';
import { withSwapCost } from '../payments/plan/swap-cost.js';
import { withoutBound } from '../payments/execute/reservation.js';
import { ownersWithin, timedJournal } from '../payments/journal-timeouts.js';
import { attemptsInState, orphanedAttempts } from '../payments/reconcile/resume-once.js';
import { endUnpaid } from '../payments/reconcile/orphaned-attempts.js';
import {
  isMonitored,
  monitorPayment,
  openPaymentOf,
} from '../payments/reconcile/payment-monitor.js';
import { askUntilClosed, endIfDecided, heldPaymentOf } from '../payments/reconcile/resume.js';
import { keylessContext, type AutoPayDeps } from './auto-pay.js';
import { transportClosed } from './closed.js';
import { keepLanding, landedBefore, type Landed } from './landing.js';
import { findReserved, hasSwap, type SwapAttempt } from './records.js';

// Milliseconds that a caller has to sign the payment after its swap. Until then the budget stays
// reserved for it.
const PATIENCE_MS = 10 * 60_000;

/**
 * The work on one wallet's attempts. The session exists while a call or a background task works on
 * them.
 */
export interface WalletSession {
  readonly context: PaymentContext;
  /** Runs work that no other work on the wallet's reserved attempts overlaps. */
  exclusively<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Follows a signed payment on the chain, in the background. Resolves once its tokens are held;
   * rejects if the journal fails.
   */
  watch(attempt: SignedAttempt): Promise<void>;
  /**
   * Sends a swap until it is decided and records its outcome, in the background. Resolves with
   * undefined if the session closes first.
   */
  landSwap(attempt: SwapAttempt): Promise<Landed | undefined>;
  /**
   * Releases the claim of an attempt. It does nothing while a swap of the attempt is being sent,
   * because an attempt without a claim counts as orphaned.
   */
  releaseClaim(id: string): Promise<void>;
}

export interface WalletSessions {
  /** Runs work in the session of a wallet, after the session has resumed the open attempts. */
  run<T>(wallet: string, work: (session: WalletSession) => Promise<T>): Promise<T>;
  /** Resumes the open attempts of every wallet, if the journal can list the wallets. */
  resume(): Promise<void>;
  /** Ends the background work; open attempts stay on record. */
  close(): Promise<void>;
}

interface OpenSession {
  readonly session: WalletSession;
  users: number;
  /** Resumes open attempts. After the first time it only follows signed payments. */
  takeUp: (session: WalletSession) => Promise<void>;
  /** The resumption that was started last; undefined if the next call must resume again. */
  taken: Promise<void> | undefined;
}

/** Creates sessions over a journal. Their background timers do not keep the process alive. */
export function createWalletSessions(deps: AutoPayDeps, journal: Journal): WalletSessions {
  const { settings } = deps;
  const { network, runtime, timeouts } = settings;
  const sessions = new Map<string, OpenSession>();
  const contexts = new Set<PaymentContext>();
  const work = new Set<Promise<unknown>>();
  let isClosed = false;

  const endUse = (wallet: string, open: OpenSession): void => {
    open.users -= 1;
    if (open.users > 0) return;
    contexts.delete(open.session.context);
    if (sessions.get(wallet) === open) sessions.delete(wallet);
  };

  const openSession = (wallet: string): OpenSession => {
    const events = createEvents(runtime.now);
    const config = { ...settings, address: wallet, autoSwap: false, journal };
    // A client in this process that pays from the same wallet shares the holds and claims.
    const parts = { events, wallet: knownWallet(wallet, network) ?? newWallet() };
    const context = keylessContext(deps, config, {
      ...parts,
      kept: timedJournal(journal, { wallet, network }, settings, parts),
    });
    contexts.add(context);
    const inBackground = (task: Promise<unknown>): void => {
      open.users += 1;
      const done = task
        .catch(() => undefined)
        .finally(() => {
          work.delete(done);
          endUse(wallet, open);
        });
      work.add(done);
    };
    const session = sessionOver(context, inBackground);
    const open: OpenSession = { session, users: 0, takeUp, taken: undefined };
    return open;
  };

  const run: WalletSessions['run'] = async (wallet, task) => {
    if (isClosed) throw transportClosed();
    const open = sessions.get(wallet) ?? openSession(wallet);
    sessions.set(wallet, open);
    open.users += 1;
    try {
      open.taken ??= open.takeUp(open.session);
      await open.taken.catch((error: unknown) => {
        // The next call tries again.
        open.taken = undefined;
        throw error;
      });
      // Attempts that are reserved from now on belong to this session, so they are no orphans.
      open.takeUp = followSigned;
      return await task(open.session);
    } catch (error) {
      // A payment may be on record although the journal failed, so the next call must follow it.
      if (isExactChangeError(error, 'journal_unavailable')) open.taken = undefined;
      throw error;
    } finally {
      endUse(wallet, open);
    }
  };

  return {
    run,
    async resume() {
      if (isClosed) throw transportClosed();
      for await (const owner of ownersWithin(journal, timeouts.journal) ?? []) {
        if (owner.network !== network) continue;
        // A new session resumes by itself. An open session must look again, because a process that
        // died may have left more attempts.
        const isOpen = sessions.has(owner.wallet);
        await run(owner.wallet, (session) => (isOpen ? takeUp(session) : Promise.resolve()));
      }
    },
    async close() {
      isClosed = true;
      for (const context of contexts) context.closing.abort(transportClosed());
      await Promise.all(work);
    },
  };
}

function sessionOver(
  context: PaymentContext,
  inBackground: (task: Promise<unknown>) => void,
): WalletSession {
  const landings = new Map<
    string,
    { readonly id: string; readonly landing: Promise<Landed | undefined> }
  >();
  const unheld = new Set<string>();
  const { closing, claims, journal } = context;
  const { runtime } = context.config;
  const alone: WalletSession['exclusively'] = (work, signal) =>
    context.locks.hold(['auto-pay'], work, [signal, closing.signal]);

  /**
   * Changes a reserved attempt, if its swap is still the same. If the journal fails, it tries again
   * until the session closes.
   */
  const settle = async (
    { id, swap }: SwapAttempt,
    change: (attempt: SwapAttempt) => Promise<void>,
  ): Promise<void> => {
    const changeIfSame = async () => {
      const attempt = await findReserved(context, id);
      if (attempt !== undefined && hasSwap(attempt) && attempt.swap.signature === swap.signature)
        await change(attempt);
      return true;
    };
    await askUntilClosed(context, () => alone(changeIfSame));
  };

  const land = async (attempt: SwapAttempt): Promise<Landed | undefined> => {
    const { outcome } = attempt.swap;
    if (outcome !== undefined) return landedBefore(attempt.swap, outcome);
    const landed = await keepLanding(context, attempt);
    if (landed === undefined) return undefined;
    await settle(attempt, (current) => journal.put(withSwapCost(current, landed.outcome)));
    return landed;
  };

  /**
   * Frees the budget of an attempt: at once if its swap failed or expired, otherwise after the time
   * in which the caller can sign the payment.
   */
  const expire = async (
    attempt: SwapAttempt,
    landing: Promise<Landed | undefined>,
  ): Promise<void> => {
    const landed = await landing;
    if (landed?.outcome.state === 'confirmed') await runtime.idle(PATIENCE_MS, closing.signal);
    if (landed !== undefined)
      await settle(attempt, (current) => endUnpaid(context, withoutBound(current)));
  };

  const letGo: WalletSession['releaseClaim'] = async (id) => {
    if (![...landings.values()].some((landing) => landing.id === id)) await claims.drop([id]);
  };

  /** Holds the tokens of a payment once the journal works again, unless the monitor ends first. */
  const holdAgain = async (attempt: SignedAttempt): Promise<void> => {
    const { id } = attempt;
    if (unheld.has(id)) return;
    unheld.add(id);
    await askUntilClosed(
      context,
      async () => !isMonitored(context, id) || heldPaymentOf(context, attempt),
    );
    unheld.delete(id);
  };

  return {
    context,
    exclusively: alone,
    releaseClaim: letGo,
    watch(attempt) {
      const { id } = attempt;
      const held = heldPaymentOf(context, attempt);
      // Each round watches all undecided payments again, and must not leave one more task for each.
      const monitor = async (open: OpenPayment) => {
        if (!isMonitored(context, id))
          await monitorPayment(context, open, context.events.emitter(id));
      };
      // Without its hold, a payment is followed all the same.
      const open = held.catch(() => openPaymentOf(context, attempt));
      inBackground(open.then(monitor));
      inBackground(held.catch(() => open.then(() => holdAgain(attempt))));
      return held.then(() => undefined);
    },
    landSwap(attempt) {
      const { signature } = attempt.swap;
      const { id } = attempt;
      const known = landings.get(signature);
      if (known !== undefined) return known.landing;
      const landing = land(attempt);
      landings.set(signature, { id, landing });
      const watchUntilOver = async (): Promise<void> => {
        try {
          await expire(attempt, landing);
        } finally {
          landings.delete(signature);
          // Wait for the lock: a step may be recording another swap for this attempt.
          await alone(() => letGo(id)).catch(() => letGo(id));
        }
      };
      inBackground(watchUntilOver());
      return landing;
    },
  };
}

/**
 * Resumes the attempts that an earlier process left for a wallet. It leaves reserved attempts of
 * clients alone, because their clients resume them.
 */
async function takeUp(session: WalletSession): Promise<void> {
  const { context } = session;
  await followSigned(session);
  for (const attempt of (await orphanedAttempts(context, 'reserved')).filter(isFromService)) {
    if (!hasSwap(attempt)) await context.journal.release(attempt.id);
    else {
      const { id } = attempt;
      await context.claims.take([id]).catch(async (error: unknown) => {
        // The claim may exist all the same, and would hide the attempt from each later look.
        await session.releaseClaim(id).catch(() => undefined);
        throw error;
      });
      void session.landSwap(attempt);
    }
  }
  // A process may have ended after it recorded the outcome of a swap, before the attempt was over.
  for (const attempt of (await orphanedAttempts(context, 'abandoned')).filter(isFromService))
    await endIfDecided(context, attempt).catch(() => undefined);
}

async function followSigned(session: WalletSession): Promise<void> {
  const { context } = session;
  // Do not wait, because a node that hangs must not delay calls. A plan asks about payments itself.
  for (const attempt of (await attemptsInState(context, 'signed')).filter(isPaid))
    session.watch(attempt).catch(() => undefined);
}
