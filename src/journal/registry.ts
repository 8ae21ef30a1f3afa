import { createLedger, type Ledger } from './ledger.js';
import { createLocks, type Locks } from './locks.js';
import { memoryJournal } from './memory.js';
import type { Journal } from './types.js';

/** What all clients of one wallet in this process share. */
export interface Wallet {
  readonly ledger: Ledger;
  readonly locks: Locks;
  readonly journal: Journal;
  /**
   * How far the process has counted on each blockhash, oldest first: what tells apart payments that carry no nonce of their own.
   * Shared by all wallets, so that it also tells apart what is planned for the same one twice.
   */
  readonly sequences: Map<string, number>;
  /** What payments that wait for a swap need, by output mint: one swap serves them all. */
  readonly waiting: Map<string, bigint>;
  /** Ids of attempts that a call in this process is presenting right now. */
  readonly active: Set<string>;
  /** Calls that are choosing what to pay: whoever swaps waits until they have said what they need. */
  readonly arriving: Set<Promise<void>>;
  /** Idempotency keys of purchases that a call in this process is making right now, from before they are written anywhere. */
  readonly keys: Set<string>;
}

/** What the process keeps, also across copies of the package. */
interface Shared {
  readonly wallets: Map<string, Wallet>;
  readonly sequences: Map<string, number>;
}

const SHARED: unique symbol = Symbol.for('exact-change.wallets.2');

interface Shelf {
  [SHARED]?: Shared | undefined;
}

function shared(): Shared {
  const place: Shelf = globalThis as Shelf; // The global object has room for anything.
  return (place[SHARED] ??= { wallets: new Map(), sequences: new Map() });
}

/** State that nobody shares but for the sequences: for planning on behalf of others. */
export function newWallet(): Wallet {
  return {
    ledger: createLedger(),
    locks: createLocks(),
    journal: memoryJournal(),
    sequences: shared().sequences,
    waiting: new Map(),
    active: new Set(),
    arriving: new Set(),
    keys: new Set(),
  };
}

/** The shared state of a wallet on a network: one for the process, also across copies of the package. */
export function walletOf(address: string, network: string): Wallet {
  const { wallets } = shared();
  const key = `${network} ${address}`;
  let wallet = wallets.get(key);
  if (wallet === undefined) wallets.set(key, (wallet = newWallet()));
  return wallet;
}

/** Announces a call that is choosing what to pay. Returns how to say that it is known what it needs, or that it needs nothing. */
export function announce({ arriving }: Wallet): () => void {
  let arrived = (): void => undefined;
  const call = new Promise<void>((resolve) => (arrived = resolve));
  arriving.add(call);
  return () => {
    arriving.delete(call);
    arrived();
  };
}
