import type { PaymentRequired } from '../protocols/types.js';
import type { FreedReceipt } from '../receipt.js';
import type { Address } from '../solana/types.js';
import type { Holdings } from '../swaps/quote/candidates.js';

/** `reference` base units of a mint sold for `microUsd` millionths of a dollar. */
export interface PriceSeen {
  readonly reference: bigint;
  readonly microUsd: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface StableTerms {
  readonly terms: PaymentRequired;
  /** The terms are valid from then. Milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds for which the terms are valid. */
  readonly ms: number;
}

/** Prices of tokens, which are the same for every wallet. */
export interface Prices {
  /** Prices of the last minutes by mint, oldest first. */
  readonly prices: Map<Address, readonly PriceSeen[]>;
  /** When a mint was last found to have no price. Milliseconds since the epoch. */
  readonly unpriced: Map<Address, number>;
  /** Price requests under way, by mint and by whether the request has a low priority. */
  readonly pricesAsked: Map<string, Promise<PriceSeen | undefined>>;
}

export interface KnownMint {
  readonly tokenProgram: Address;
  readonly decimals: number;
}

/** Answers of the chain and of services that a client remembers, so that it asks them once. */
export interface Memory extends Prices {
  readonly mints: Map<Address, KnownMint>;
  /** Addresses of payees' token accounts that exist. */
  readonly payees: Set<Address>;
  /** When a swap out of an unpinned token last failed, by mint. Milliseconds since the epoch. */
  readonly failedInputs: Map<Address, number>;
  /**
   * The last read of the wallet's SOL and pinned tokens. It began at `at`, milliseconds since the
   * epoch. `read` is absent until its result is noted (`plan/pinned-holdings.ts`).
   */
  pinned: { readonly at: number; read?: Promise<Holdings> } | undefined;
  /** The last read of all tokens of the wallet. It began at `at`, milliseconds since the epoch. */
  holdings: { readonly at: number; readonly read: Promise<Holdings> } | undefined;
  /** Holdings of the last read that succeeded, of either kind, even if they are outdated. */
  lastHoldings: { readonly at: number; readonly holdings: Holdings } | undefined;
  /** Origins that have charged for a call. */
  readonly charging: Set<string>;
  /** Terms by which the next call is paid ahead, by method and URL. */
  readonly stableTerms: Map<string, StableTerms>;
  /** Payment headers that the browser lets a page send, each with its method and origin. */
  readonly allowedByCors: Set<string>;
  readonly topUp: {
    running: Promise<void> | undefined;
    failures: number;
    /** When the last top-up failed. Milliseconds since the epoch. */
    failedAt: number;
    /** Milliseconds after the last failure in which no top-up starts. */
    restMs: number;
  };
  /** When the service last failed to plan a swap. Milliseconds since the epoch. */
  servicePlanFailedAt: number;
}

/** What a client knows of the attempts that earlier processes left. */
export interface Resumed {
  /** The look before the first payment. Undefined: the next payment has to look. */
  started: Promise<unknown> | undefined;
  /** Ids of attempts that this client waits for, because their swap may still land. */
  readonly awaitedSwaps: Set<string>;
  /**
   * When each attempt was made that was taken up and may still change, by id. Milliseconds since
   * the epoch.
   */
  readonly open: Map<string, number>;
  /** Receipts of freed attempts that `resume` has yet to return, by id, the newest last. */
  readonly freed: Map<string, FreedReceipt>;
  /** Looks for budget of orphaned attempts. Each resolves to whether it freed any. */
  readonly looks: {
    running?: Promise<boolean> | undefined;
    /** Begins after `running`. All calls share it that a cap refused meanwhile. */
    next?: Promise<boolean> | undefined;
  };
}

/** Makes the next payment read mints and payees again, because the chain may have changed. */
export function outdateOffers({ mints, payees }: Memory): void {
  mints.clear();
  payees.clear();
}

/** The most entries of a map or set: sellers may name any number of mints and accounts. */
const MAX_ENTRIES = 1_000;

export function createPrices(): Prices {
  return { prices: new Map(), unpriced: new Map(), pricesAsked: new Map() };
}

export function createMemory(prices: Prices = createPrices()): Memory {
  return {
    ...prices,
    mints: new Map(),
    payees: new Set(),
    failedInputs: new Map(),
    pinned: undefined,
    holdings: undefined,
    lastHoldings: undefined,
    charging: new Set(),
    stableTerms: new Map(),
    allowedByCors: new Set(),
    topUp: { running: undefined, failures: 0, failedAt: -Infinity, restMs: 0 },
    servicePlanFailedAt: -Infinity,
  };
}

export function createResumed(): Resumed {
  return {
    started: undefined,
    awaitedSwaps: new Set(),
    open: new Map(),
    freed: new Map(),
    looks: {},
  };
}

/** Makes room for an entry. A full map or set is cleared: entries in use soon come back. */
export function makeRoom(entries: { readonly size: number; clear(): void }): void {
  if (entries.size >= MAX_ENTRIES) entries.clear();
}
