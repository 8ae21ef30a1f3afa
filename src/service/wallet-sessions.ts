import { deadOnes, endUnpaid } from '../payments/reconcile/orphaned-attempts.js';
import { coreOver, type Core } from '../payments/context.js';
import { follow, openOf, type Open } from '../payments/reconcile/payment-monitor.js';
import { guardJournal } from '../payments/journal-timeouts.js';
import { ownerOf } from '../payments/owner.js';
import { withoutBound, withSwapCost } from '../payments/execute/swap-cost.js';
import { createEvents } from '../events.js';
import { isHanded } from '../journal/service-attempts.js';
import { knownWallet, newWallet } from '../journal/registry.js';
import type { Journal } from '../journal/types.js';
import { landedBefore, landSwap, type Landed } from './landing.js';
import { findReserved, hasSwap, isPaid, type PaidAttempt, type SwapAttempt } from './records.js';
import type { AutoPayDeps } from './auto-pay.js';
import { transportClosed } from './closed.js';

// A caller that has swapped for a payment has so long to sign that, and until then the budget is kept for it.
const PATIENCE_MS = 10 * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** The work on one wallet's attempts: there for as long as a call or something in the background is at them. */
export interface Desk {
  readonly core: Core;
  /** Runs work as the only one on what of the wallet is reserved. */
  alone<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Follows a signed payment on chain, in the background. */
  watch(attempt: PaidAttempt): Promise<void>;
  /** Sends a swap until it is decided and puts that on record, in the background. Undefined where this closes before. */
  keep(attempt: SwapAttempt): Promise<Landed | undefined>;
  /** Lets go of an attempt, unless a swap of it is kept: without its claim it would be taken for a dead call's. */
  letGo(id: string): Promise<void>;
}

export interface Desks {
  /** Gives work the desk of a wallet, whose open attempts are taken up first. */
  at<T>(wallet: string, work: (desk: Desk) => Promise<T>): Promise<T>;
  /** Takes up what is open of any wallet, as far as the journal says which wallets have any. */
  resume(): Promise<void>;
  /** Ends what is done in the background; what is open stays on record. */
  close(): Promise<void>;
}

interface Place {
  readonly desk: Desk;
  users: number;
  taken: Promise<void> | undefined;
}

/** Desks over a journal. Nothing that they do in the background keeps a process alive by its timers. */
export function createDesks({ settings, rpc, transport }: AutoPayDeps, journal: Journal): Desks {
  const { network, runtime } = settings;
  const places = new Map<string, Place>();
  const cores = new Set<Core>();
  const work = new Set<Promise<unknown>>();
  let isClosed = false;

  const leave = (wallet: string, place: Place): void => {
    place.users -= 1;
    if (place.users > 0) return;
    cores.delete(place.desk.core);
    if (places.get(wallet) === place) places.delete(wallet);
  };

  const open = (wallet: string): Place => {
    const config = {
      ...settings,
      signer: { address: wallet, signMessage: () => Promise.reject(new TypeError('this core only watches')) },
      transport,
      autoSwap: false,
      apiUrl: undefined,
      apiKey: undefined,
      journal,
      retryWindow: 0,
    };
    // A client in this process that pays from the same wallet sees what is held and claimed here, and the other way round.
    const core = coreOver(config, createEvents(runtime.now), rpc, transport, knownWallet(wallet, network) ?? newWallet());
    cores.add(core);
    const behind = (task: Promise<unknown>): void => {
      place.users += 1;
      const done = task
        .catch(() => undefined)
        .finally(() => {
          work.delete(done);
          leave(wallet, place);
        });
      work.add(done);
    };
    const place: Place = { desk: deskOver(core, behind), users: 0, taken: undefined };
    return place;
  };

  const at: Desks['at'] = async (wallet, task) => {
    if (isClosed) throw transportClosed();
    const place = places.get(wallet) ?? open(wallet);
    places.set(wallet, place);
    place.users += 1;
    try {
      place.taken ??= takeUp(place.desk);
      await place.taken.catch((error: unknown) => {
        // Asked again by the next call.
        place.taken = undefined;
        throw error;
      });
      return await task(place.desk);
    } finally {
      leave(wallet, place);
    }
  };

  return {
    at,
    async resume() {
      if (isClosed) throw transportClosed();
      for await (const owner of guardJournal(journal, settings.timeouts.journal).owners?.() ?? []) {
        if (owner.network !== network) continue;
        // Opening a desk takes up what is there; at one that stands already, a process that died since may have left more.
        const stands = places.has(owner.wallet);
        await at(owner.wallet, (desk) => (stands ? takeUp(desk) : Promise.resolve()));
      }
    },
    async close() {
      isClosed = true;
      for (const core of cores) core.closing.abort(transportClosed());
      await Promise.all(work);
    },
  };
}

function deskOver(core: Core, behind: (task: Promise<unknown>) => void): Desk {
  const landings = new Map<string, { readonly id: string; readonly landing: Promise<Landed | undefined> }>();
  const { closing, claims, journal } = core;
  const { runtime } = core.config;
  const alone: Desk['alone'] = (work, signal) => core.locks.hold(['auto-pay'], work, [signal, closing.signal]);

  /** Changes a reserved attempt, if it is at the swap that is meant; again and again where the journal fails. */
  const settle = async ({ id, swap }: SwapAttempt, change: (attempt: SwapAttempt) => Promise<void>): Promise<void> => {
    for (let wait = FIRST_WAIT_MS; !closing.signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        return await alone(async () => {
          const attempt = await findReserved(core, id);
          if (attempt !== undefined && hasSwap(attempt) && attempt.swap.signature === swap.signature) await change(attempt);
        });
      } catch {
        await runtime.idle(wait, closing.signal).catch(() => undefined);
      }
    }
  };

  const land = async (attempt: SwapAttempt): Promise<Landed | undefined> => {
    const { outcome } = attempt.swap;
    if (outcome !== undefined) return landedBefore(attempt.swap, outcome);
    const landed = await landSwap(core, attempt.swap);
    if (landed === undefined) return undefined;
    await settle(attempt, (now) => journal.put(withSwapCost(now, landed.outcome)));
    return landed;
  };

  /** Frees the budget of a swap that came to nothing at once, and of one whose payment is not signed after a while. */
  const expire = async (attempt: SwapAttempt, landing: Promise<Landed | undefined>): Promise<void> => {
    const landed = await landing;
    if (landed?.outcome.state === 'confirmed') await runtime.idle(PATIENCE_MS, closing.signal);
    if (landed !== undefined) await settle(attempt, (now) => endUnpaid(core, withoutBound(now)));
  };

  const letGo: Desk['letGo'] = async (id) => {
    if (![...landings.values()].some((one) => one.id === id)) await claims.drop(id);
  };

  return {
    core,
    alone,
    letGo,
    async watch(attempt) {
      await core.ledger.hold(attempt.payment.source, attempt.id, BigInt(attempt.amount));
      const open: Open = openOf(core, attempt);
      behind(follow(core, open, core.events.emitter(attempt.id)));
    },
    keep(attempt) {
      const { signature } = attempt.swap;
      const { id } = attempt;
      const known = landings.get(signature);
      if (known !== undefined) return known.landing;
      const landing = land(attempt);
      landings.set(signature, { id, landing });
      const over = expire(attempt, landing).finally(async () => {
        landings.delete(signature);
        // Not while one more swap of it is put on record.
        await alone(() => letGo(id)).catch(() => letGo(id));
      });
      behind(over);
      return landing;
    },
  };
}

/** Takes up what an earlier process left of a wallet. What clients of the same wallet left reserved is theirs. */
async function takeUp(desk: Desk): Promise<void> {
  const { core } = desk;
  for await (const attempt of core.journal.attempts(ownerOf(core), { state: 'signed' })) if (isPaid(attempt)) await desk.watch(attempt);
  for (const attempt of (await deadOnes(core, 'reserved')).filter(isHanded)) {
    if (!hasSwap(attempt)) await core.journal.release(attempt.id);
    else {
      await core.claims.take(attempt.id);
      void desk.keep(attempt);
    }
  }
}
