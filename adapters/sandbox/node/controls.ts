import type { Json } from '../chain/json.js';
import type { Lags } from './behind.js';
import type { CallFilter } from './calls.js';
import type { NodeFault } from './faults.js';

/**
 * Stands between a call and its handling and may alter what is asked and what is answered: the
 * place for a node that lies.
 * `next()` handles the call as asked, `next(otherParams)` another; throw an `RpcError` to answer an
 * error.
 */
export type Intercept = (
  method: string,
  params: unknown,
  next: (params?: unknown) => Json,
) => Json | Promise<Json>;

/** How a test or a demo moves the node. */
export interface NodeControls {
  /** Milliseconds added to every HTTP call, half before it is handled and half after. */
  latencyMs: number;
  /** The same for the calls of one caller, as callers name themselves, instead of `latencyMs`. */
  readonly callerLatencyMs: Map<string, number>;
  /** Milliseconds a slot lasts; 0 stops time, so that only `warp` moves it. */
  slotMs: number;
  /** Milliseconds from `sendTransaction` to `confirmed`; 0 makes it immediate. */
  confirmationMs: number;
  /**
   * `silent` takes subscriptions and never notifies; `off` refuses connections and cuts those there
   * are.
   */
  webSocket: 'on' | 'silent' | 'off';
  /**
   * Whether a simulation parses the calls inside that it can, as Agave's nodes do; false: it shows
   * all of them as bytes, as others may. Default true.
   */
  parsesCalls: boolean;
  intercept: Intercept | undefined;
  /** How often the node was called, over HTTP and WebSocket. */
  calls(filter?: CallFilter): number;
  callsByMethod(caller?: string): Record<string, number>;
  resetCalls(): void;
  /**
   * Lets the calls of a method (`*`: of every one) meet a fault, in the order in which faults were
   * added. Returns how to call it off.
   * With `caller`, as callers name themselves, only its calls: two callers are two nodes to a
   * client.
   */
  fault(method: string, fault: NodeFault, caller?: string): () => void;
  /**
   * Lets methods of an honest node be so many slots behind, as `{ getSignaturesForAddress: 250 }`;
   * `{}` ends it. What looks into history has not indexed what is newer, and does not say so; what
   * speaks of blocks speaks of those of then, and refuses a `minContextSlot` beyond.
   */
  lag(slots: Lags, caller?: string): void;
  /** Ends faults and lags. */
  clearFaults(): void;
  /**
   * Lets so many slots pass at once; by default as many as expire every blockhash there is, also in
   * the eyes of a reader of finalized blocks.
   */
  warp(slots?: number): void;
}
