import { setNewest } from '../internal/newest.js';
import { randomBytes } from '../internal/runtime.js';
import { ownerName } from './attempt-names.js';
import { createLedger } from './balance-ledger.js';
import type { ReleasedClaims } from './released-claims.js';
import { createLocks } from './locks.js';
import { createMemoryJournal } from './memory.js';
import type { OpenPayment } from './open-payment.js';
import type { Along, Coordination, Journal } from './types.js';

/** State that all clients of one wallet in this process share. */
export interface Wallet {
  /** For journals without a coordination of their own. */
  readonly coordination: Coordination;
  readonly journal: Journal;
  /** Base units that payments in wait for a swap need, by output mint: one swap serves them all. */
  readonly neededByMint: Map<string, bigint>;
  /**
   * Calls that are choosing what to pay: a call that swaps waits until the need of each call is
   * known.
   */
  readonly choosingCalls: Set<Promise<void>>;
  /**
   * Signed payments by attempt id, until the chain decides. Each has the contexts that monitor it.
   */
  readonly monitored: Map<
    string,
    { readonly open: OpenPayment; readonly monitors: Map<object, Promise<void>> }
  >;
  /** Calls that have ended and still release their claims: the next call waits for them. */
  readonly releasing: Set<Promise<void>>;
  /** Claims that calls have released, and that a journal may still have. */
  readonly releasedClaims: ReleasedClaims;
  /**
   * Idempotency keys of purchases that calls in this process are making now, even if no purchase is
   * written yet.
   */
  readonly keys: Set<string>;
  /** Accounts whose balances the journal may still have from before a swap, because it failed. */
  readonly outdated: Set<string>;
}

/** State of the process, for all copies of the package. */
interface Shared {
  readonly wallets: Map<string, Wallet>;
  /**
   * The last count on each blockhash, for all wallets: it tells apart payments of a wallet even if
   * they are planned in separate states.
   */
  readonly counts: Map<string, number>;
}

const SHARED: unique symbol = Symbol.for('exact-change.wallets.8');

interface Registry {
  [SHARED]?: Shared | undefined;
}

function shared(): Shared {
  const globals: Registry = globalThis as Registry; // Any key may be set on the global object.
  return (globals[SHARED] ??= { wallets: new Map(), counts: new Map() });
}

/** Creates state that shares only the counts: a service plans with it for wallets of callers. */
export function newWallet(): Wallet {
  return {
    coordination: createCoordination(shared().counts),
    journal: createMemoryJournal(),
    neededByMint: new Map(),
    choosingCalls: new Set(),
    monitored: new Map(),
    releasing: new Set(),
    releasedClaims: new Map(),
    keys: new Set(),
    outdated: new Set(),
  };
}

/**
 * Returns the shared state of a wallet on a network: one for the process and all copies of the
 * package.
 */
export function walletOf(address: string, network: string): Wallet {
  const { wallets } = shared();
  const key = ownerName({ wallet: address, network });
  let wallet = wallets.get(key);
  if (wallet === undefined) wallets.set(key, (wallet = newWallet()));
  return wallet;
}

/** Returns the shared state of a wallet; undefined if no client in this process uses the wallet. */
export function knownWallet(address: string, network: string): Wallet | undefined {
  return shared().wallets.get(ownerName({ wallet: address, network }));
}

/**
 * Announces a call that is choosing what to pay. Returns a function to call once the call's need is
 * known, or once it needs nothing.
 */
export function announceCall({ choosingCalls }: Wallet): () => void {
  let arrived = (): void => undefined;
  const call = new Promise<void>((resolve) => (arrived = resolve));
  choosingCalls.add(call);
  return () => {
    choosingCalls.delete(call);
    arrived();
  };
}

// Payments without a nonce of their own differ by a count. It starts at random, because processes
// that do not know each other must not use the same counts.
const SPREAD = 500;
const MAX_NAMES = 2_048;

/**
 * Creates the coordination of the payers of one process, in memory.
 *
 * @param counts - The last count under each name, oldest name first.
 */
export function createCoordination(counts: Map<string, number> = new Map()): Coordination {
  const claimed = new Set<string>();
  return {
    ledger: createLedger(),
    locks: createLocks(),
    claims: {
      take: (ids) => Promise.resolve(ids.forEach((id) => claimed.add(id))),
      drop: (ids) => Promise.resolve(ids.forEach((id) => claimed.delete(id))),
      live: (ids) => Promise.resolve(new Set(ids.filter((id) => claimed.has(id)))),
    },
    next(name) {
      const last = counts.get(name) ?? start();
      // Names are blockhashes, and about 150 blockhashes are valid at a time, so old names may go.
      return Promise.resolve(setNewest(counts, name, last + 1, MAX_NAMES));
    },
  };
}

function start(): number {
  const [high = 0, low = 0] = randomBytes(2);
  return (high * 256 + low) % SPREAD;
}

/**
 * Wraps a journal without coordination: changes that go along with a write are made in the
 * coordination of its process, right before the write or after it.
 */
export function withCoordination(
  journal: Journal,
  { claims, ledger }: Pick<Coordination, 'claims' | 'ledger'>,
): Journal {
  const write = async <T>(
    id: string,
    { claim = [], drop = [], spend, free = [] }: Along,
    work: () => Promise<T>,
    isDone: (result: T) => boolean = () => true,
  ): Promise<T> => {
    if (claim.length > 0) await claims.take(claim);
    // End holds before the write: to end one twice is harmless, but a hold that never ends would
    // keep its tokens for ever.
    if (spend !== undefined) await ledger.spend(spend.account, id, spend.slot);
    for (const account of free) await ledger.release(account, id);
    const result = await work();
    const released = isDone(result) ? drop : claim;
    if (released.length > 0) await claims.drop(released);
    return result;
  };
  return {
    ...journal,
    reserve: (attempt, caps, along = {}) =>
      write(
        attempt.id,
        along,
        () => journal.reserve(attempt, caps),
        (refused) => refused === undefined,
      ),
    put: (attempt, along = {}) => write(attempt.id, along, () => journal.put(attempt)),
    release: (id, along = {}) => write(id, along, () => journal.release(id)),
  };
}
