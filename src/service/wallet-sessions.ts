import { isExactChangeError } from '../errors.js';
import { createEvents } from '../events.js';
import { knownWallet, newWallet } from '../journal/registry.js';
import { isFromService } from '../journal/attempt-names.js';
import type { Journal } from '../journal/types.js';
import { contextOver, ownerOf, type PaymentContext } from '../payments/context.js';
import { withSwapCost } from '../payments/execute/swap-cost.js';
import { withoutBound } from '../payments/execute/reservation.js';
import { journalWithTimeouts, timedJournal } from '../payments/journal-timeouts.js';
import { orphanedAttempts } from '../payments/reconcile/resume-once.js';
import { endUnpaid } from '../payments/reconcile/orphaned-attempts.js';
import { monitorPayment } from '../payments/reconcile/payment-monitor.js';
import { heldPaymentOf } from '../payments/reconcile/resume.js';
import { x402Protocol } from '../protocols/x402/protocol.js';
import type { AutoPayDeps } from './auto-pay.js';
import { transportClosed } from './closed.js';
import { keepLanding, landedBefore, type Landed } from './landing.js';
import { findReserved, hasSwap, isPaid, type PaidAttempt, type SwapAttempt } from './records.js';

// A caller that has swapped for a payment has so long to sign that, and until then the budget is
// kept for it.
const PATIENCE_MS = 10 * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * The work on one wallet's attempts: there for as long as a call or something in the background is
 * at them.
 */
export interface WalletSession {
  readonly context: PaymentContext;
  /** Runs work as the only one on what of the wallet is reserved. */
  alone<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Follows a signed payment on chain, in the background. */
  watch(attempt: PaidAttempt): Promise<void>;
  /**
   * Sends a swap until it is decided and puts that on record, in the background. Undefined if
   * this closes before.
   */
  keep(attempt: SwapAttempt): Promise<Landed | undefined>;
  /**
   * Lets go of an attempt, unless a swap of it is kept: without its claim it would be taken for an
   * orphan.
   */
  letGo(id: string): Promise<void>;
}

export interface WalletSessions {
  /** Runs work in the session of a wallet, whose open attempts are taken up first. */
  run<T>(wallet: string, work: (session: WalletSession) => Promise<T>): Promise<T>;
  /** Takes up what is open of any wallet, as far as the journal says which wallets have any. */
  resume(): Promise<void>;
  /** Ends what is done in the background; what is open stays on record. */
  close(): Promise<void>;
}

interface OpenSession {
  readonly session: WalletSession;
  users: number;
  takeUp: (session: WalletSession) => Promise<void>;
  taken: Promise<void> | undefined;
}

/**
 * Sessions over a journal. Nothing that they do in the background keeps a process alive by its
 * timers.
 */
export function createWalletSessions(
  { settings, sources, rpc, transport }: AutoPayDeps,
  journal: Journal,
): WalletSessions {
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
    const config = {
      ...settings,
      signer: {
        address: wallet,
        signMessage: () => Promise.reject(new TypeError('this wallet is only watched')),
      },
      transport,
      autoSwap: false,
      apiUrl: undefined,
      apiKey: undefined,
      relayer: undefined,
      journal,
      presign: [],
      retryWindow: 0,
    };
    // A client in this process that pays from the same wallet sees what is held and claimed here,
    // and the other way round.
    const events = createEvents(runtime.now);
    const context = contextOver(config, {
      protocols: [x402Protocol],
      sources,
      events,
      rpc,
      transport,
      kept: timedJournal(journal, { wallet, network }, timeouts.journal, {
        now: runtime.now,
        onStep: (step) => events.emitCall('journal.called', step),
      }),
      wallet: knownWallet(wallet, network) ?? newWallet(),
    });
    contexts.add(context);
    const behind = (task: Promise<unknown>): void => {
      open.users += 1;
      const done = task
        .catch(() => undefined)
        .finally(() => {
          work.delete(done);
          endUse(wallet, open);
        });
      work.add(done);
    };
    const session = sessionOver(context, behind);
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
        // Asked again by the next call.
        open.taken = undefined;
        throw error;
      });
      // What is reserved from now on is this session's own.
      open.takeUp = followSigned;
      return await task(open.session);
    } catch (error) {
      // A payment may be on record though the journal failed: the next call follows it.
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
      for await (const owner of journalWithTimeouts(journal, timeouts.journal).owners?.() ?? []) {
        if (owner.network !== network) continue;
        // Opening a session takes up what is there; in one that is open, a process that died since
        // may have left more.
        const stands = sessions.has(owner.wallet);
        await run(owner.wallet, (session) => (stands ? takeUp(session) : Promise.resolve()));
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
  behind: (task: Promise<unknown>) => void,
): WalletSession {
  const landings = new Map<
    string,
    { readonly id: string; readonly landing: Promise<Landed | undefined> }
  >();
  const { closing, claims, journal } = context;
  const { runtime } = context.config;
  const alone: WalletSession['alone'] = (work, signal) =>
    context.locks.hold(['auto-pay'], work, [signal, closing.signal]);

  /**
   * Changes a reserved attempt, if it is at the swap that is meant; again and again if the
   * journal fails.
   */
  const settle = async (
    { id, swap }: SwapAttempt,
    change: (attempt: SwapAttempt) => Promise<void>,
  ): Promise<void> => {
    for (
      let wait = FIRST_WAIT_MS;
      !closing.signal.aborted;
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    ) {
      try {
        return await alone(async () => {
          const attempt = await findReserved(context, id);
          if (
            attempt !== undefined &&
            hasSwap(attempt) &&
            attempt.swap.signature === swap.signature
          )
            await change(attempt);
        });
      } catch {
        await runtime.idle(wait, closing.signal).catch(() => undefined);
      }
    }
  };

  const land = async (attempt: SwapAttempt): Promise<Landed | undefined> => {
    const { outcome } = attempt.swap;
    if (outcome !== undefined) return landedBefore(attempt.swap, outcome);
    const landed = await keepLanding(context, attempt.swap);
    if (landed === undefined) return undefined;
    await settle(attempt, (now) => journal.put(withSwapCost(now, landed.outcome)));
    return landed;
  };

  /**
   * Frees the budget of a swap that came to nothing at once, and of one whose payment is not signed
   * after a while.
   */
  const expire = async (
    attempt: SwapAttempt,
    landing: Promise<Landed | undefined>,
  ): Promise<void> => {
    const landed = await landing;
    if (landed?.outcome.state === 'confirmed') await runtime.idle(PATIENCE_MS, closing.signal);
    if (landed !== undefined) await settle(attempt, (now) => endUnpaid(context, withoutBound(now)));
  };

  const letGo: WalletSession['letGo'] = async (id) => {
    if (![...landings.values()].some((one) => one.id === id)) await claims.drop([id]);
  };

  return {
    context,
    alone,
    letGo,
    async watch(attempt) {
      const open = await heldPaymentOf(context, attempt);
      behind(monitorPayment(context, open, context.events.emitter(attempt.id)));
    },
    keep(attempt) {
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
          // Not while one more swap of it is put on record.
          await alone(() => letGo(id)).catch(() => letGo(id));
        }
      };
      behind(watchUntilOver());
      return landing;
    },
  };
}

/**
 * Takes up what an earlier process left of a wallet. What clients of the same wallet left reserved
 * is theirs.
 */
async function takeUp(session: WalletSession): Promise<void> {
  const { context } = session;
  await followSigned(session);
  for (const attempt of (await orphanedAttempts(context, 'reserved')).filter(isFromService)) {
    if (!hasSwap(attempt)) await context.journal.release(attempt.id);
    else {
      await context.claims.take([attempt.id]);
      void session.keep(attempt);
    }
  }
}

async function followSigned(session: WalletSession): Promise<void> {
  const { context } = session;
  for await (const attempt of context.journal.attempts(ownerOf(context), { state: 'signed' }))
    if (isPaid(attempt)) await session.watch(attempt);
}
