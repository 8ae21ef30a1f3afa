import { randomBytes } from '../internal/runtime.js';
import { createLedger } from './balance-ledger.js';
import type { LetGo } from './let-go.js';
import { createLocks } from './locks.js';
import { memoryJournal } from './memory.js';
import type { OpenPayment } from './open-payment.js';
import type { Along, Coordination, Journal } from './types.js';

/** What all clients of one wallet in this process share. */
export interface Wallet {
  /** For journals that bring none of their own. */
  readonly coordination: Coordination;
  readonly journal: Journal;
  /** What payments that wait for a swap need, by output mint: one swap serves them all. */
  readonly waiting: Map<string, bigint>;
  /**
   * Calls that are choosing what to pay: a call that swaps waits until they have said what they
   * need.
   */
  readonly arriving: Set<Promise<void>>;
  /**
   * Signed payments that are followed until the chain decides, by attempt id, each with the
   * contexts that follow it.
   */
  readonly monitored: Map<
    string,
    { readonly open: OpenPayment; readonly monitors: Map<object, Promise<void>> }
  >;
  /** What the next call waits for: calls that have ended and are letting go of their attempts. */
  readonly releasing: Set<Promise<void>>;
  /** Claims that calls have let go of, and that a journal may still have. */
  readonly letGo: LetGo;
  /**
   * Idempotency keys of purchases that a call in this process is making right now, from before they
   * are written anywhere.
   */
  readonly keys: Set<string>;
}

/** What the process keeps, also across copies of the package. */
interface Shared {
  readonly wallets: Map<string, Wallet>;
  /**
   * How far is counted on each blockhash, for all wallets: also what is planned for the same one
   * twice is told apart by it.
   */
  readonly counts: Map<string, number>;
}

const SHARED: unique symbol = Symbol.for('exact-change.wallets.6');

interface Registry {
  [SHARED]?: Shared | undefined;
}

function shared(): Shared {
  const place: Registry = globalThis as Registry; // The global object has room for anything.
  return (place[SHARED] ??= { wallets: new Map(), counts: new Map() });
}

/** State that is not shared but for the counts: for planning on behalf of others. */
export function newWallet(): Wallet {
  return {
    coordination: createCoordination(shared().counts),
    journal: memoryJournal(),
    waiting: new Map(),
    arriving: new Set(),
    monitored: new Map(),
    releasing: new Set(),
    letGo: new Map(),
    keys: new Set(),
  };
}

/**
 * The shared state of a wallet on a network: one for the process, also across copies of the
 * package.
 */
export function walletOf(address: string, network: string): Wallet {
  const { wallets } = shared();
  const key = nameOf(address, network);
  let wallet = wallets.get(key);
  if (wallet === undefined) wallets.set(key, (wallet = newWallet()));
  return wallet;
}

/** The shared state of a wallet that a client in this process has; undefined if none has. */
export function knownWallet(address: string, network: string): Wallet | undefined {
  return shared().wallets.get(nameOf(address, network));
}

function nameOf(address: string, network: string): string {
  return `${network} ${address}`;
}

/**
 * Announces a call that is choosing what to pay. Returns how to say that it is known what it needs,
 * or that it needs nothing.
 */
export function announce({ arriving }: Wallet): () => void {
  let arrived = (): void => undefined;
  const call = new Promise<void>((resolve) => (arrived = resolve));
  arriving.add(call);
  return () => {
    arriving.delete(call);
    arrived();
  };
}

// Payments without a nonce of their own differ by a number. Counting from a random start tells
// processes apart that know nothing of each other.
const SPREAD = 500;
const MAX_NAMES = 2_048;

/**
 * What the payers of one process share, in memory.
 *
 * @param counts - How far is counted under each name, oldest first.
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
      // Names are blockhashes: each was valid when it came, and a chain has some 150 valid ones at
      // a time.
      for (const oldest of counts.keys()) {
        if (counts.size < MAX_NAMES || counts.has(name)) break;
        counts.delete(oldest);
      }
      counts.set(name, last + 1);
      return Promise.resolve(last + 1);
    },
  };
}

function start(): number {
  const [high = 0, low = 0] = randomBytes(2);
  return (high * 256 + low) % SPREAD;
}

/**
 * A journal without coordination, and the coordination of its process: what goes along with a write
 * is done there, right before the write or after it.
 */
export function alongWith(
  journal: Journal,
  { claims, ledger }: Pick<Coordination, 'claims' | 'ledger'>,
): Journal {
  const write = async <T>(
    id: string,
    { claim = [], drop = [], spend, free = [] }: Along,
    work: () => Promise<T>,
    isDone: (result: T) => boolean,
  ): Promise<T> => {
    if (claim.length > 0) await claims.take(claim);
    // Ended twice is ended, and a hold that is never ended would keep its tokens for ever.
    if (spend !== undefined) await ledger.spend(spend.account, id, spend.slot);
    for (const account of free) await ledger.release(account, id);
    const result = await work();
    const left = isDone(result) ? drop : claim;
    if (left.length > 0) await claims.drop(left);
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
    put: (attempt, along = {}) =>
      write(
        attempt.id,
        along,
        () => journal.put(attempt),
        () => true,
      ),
    release: (id, along = {}) =>
      write(
        id,
        along,
        () => journal.release(id),
        () => true,
      ),
  };
}
