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

/** Terms that hold for a while. */
export interface StableTerms {
  readonly terms: PaymentRequired;
  /** Since when, in milliseconds since the epoch, and for how many milliseconds. */
  readonly at: number;
  readonly ms: number;
}

/** What tokens are worth, for any wallet. */
export interface Prices {
  /** Prices of the last minutes, oldest first. */
  readonly prices: Map<Address, readonly PriceSeen[]>;
  /** When a mint was found to have no price. Milliseconds since the epoch. */
  readonly unpriced: Map<Address, number>;
  /** Prices that are being asked for, by mint and whether the question gives way to others. */
  readonly pricesAsked: Map<string, Promise<PriceSeen | undefined>>;
}

/** What a client has learned of the chain and of its services, and need not ask again. */
export interface Memory extends Prices {
  readonly mints: Map<Address, { readonly tokenProgram: Address; readonly decimals: number }>;
  /** Payees' token accounts that are there, by address. */
  readonly payees: Set<Address>;
  /** When a swap out of a token that is not pinned came to nothing. Milliseconds since the epoch. */
  readonly failedInputs: Map<Address, number>;
  /**
   * Its SOL and pinned tokens, as they were asked for last; no `read` as long as nothing came of
   * that. Milliseconds since the epoch.
   */
  pinned: { readonly at: number; read?: Promise<Holdings> } | undefined;
  /** All that the wallet holds, as it was asked for last. Milliseconds since the epoch. */
  holdings: { readonly at: number; readonly read: Promise<Holdings> } | undefined;
  /** The same, as it was read last, however outdated. */
  lastHoldings: { readonly at: number; readonly holdings: Holdings } | undefined;
  /** Origins that have charged for a call. */
  readonly charging: Set<string>;
  /** Terms that the next call is paid by ahead, by method and URL. */
  readonly stableTerms: Map<string, StableTerms>;
  /** Which payment headers the browser lets a page send, each with its method and origin. */
  readonly allowedByCors: Set<string>;
  /** The top-up that is under way, and how many failed in a row. */
  readonly topUp: {
    running: Promise<void> | undefined;
    failures: number;
    /** When the last one failed. Milliseconds since the epoch. */
    failedAt: number;
    /** Milliseconds from then on in which none is tried. */
    restMs: number;
  };
  /** When the service failed to plan a swap last. Milliseconds since the epoch. */
  servicePlanFailedAt: number;
}

/** What a client does about the attempts that earlier processes left. */
export interface Recovery {
  /**
   * The one look that comes before the first payment; undefined if the next payment has to look.
   */
  started: Promise<unknown> | undefined;
  /** Ids of attempts whose swap is waited for. */
  readonly awaitedSwaps: Set<string>;
  /**
   * Attempts that were taken up and may still change, by id: when each was made. Milliseconds since
   * the epoch.
   */
  readonly open: Map<string, number>;
  /** What was freed and is yet to be told, by id, the newest last. */
  readonly freed: Map<string, FreedReceipt>;
  /** Looks for budget that orphans hold. Each resolves to whether it freed any. */
  readonly looks: {
    running?: Promise<boolean> | undefined;
    /** Shared by all calls that a cap refused while that runs. */
    next?: Promise<boolean> | undefined;
  };
}

/** Of mints, accounts and addresses, each: sellers may name any number of them. */
const MOST = 1_000;

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

export function createRecovery(): Recovery {
  return {
    started: undefined,
    awaitedSwaps: new Set(),
    open: new Map(),
    freed: new Map(),
    looks: {},
  };
}

/**
 * Makes room for one more, if need be by forgetting all: what is asked for again is soon there
 * again.
 */
export function makeRoom(kept: { readonly size: number; clear(): void }): void {
  if (kept.size >= MOST) kept.clear();
}
