import type { Json } from '../chain/json.js';
import type { Lags } from './behind.js';
import type { CallFilter } from './calls.js';
import type { NodeFault } from './faults.js';

/**
 * Intercepts a call before it is handled, and may change its parameters and its answer, so that a
 * node lies. `next()` handles the call with its own parameters, `next(otherParams)` with other
 * ones. Throw an `RpcError` to answer with an error.
 */
export type Intercept = (
  method: string,
  params: unknown,
  next: (params?: unknown) => Json,
) => Json | Promise<Json>;

/** Controls of the node for tests and demos. */
export interface NodeControls {
  /** Milliseconds added to every HTTP call: half before it is handled, half after. */
  latencyMs: number;
  /** Milliseconds by the name of a caller, used instead of `latencyMs` for its calls. */
  readonly callerLatencyMs: Map<string, number>;
  /** Milliseconds for each slot; 0 stops time, so that only `warp` moves it. */
  slotMs: number;
  /** Milliseconds from `sendTransaction` to `confirmed`; 0 makes it immediate. */
  confirmationMs: number;
  /**
   * `silent` accepts subscriptions and never notifies; `off` cuts all connections and refuses new
   * ones.
   */
  webSocket: 'on' | 'silent' | 'off';
  /**
   * True if a simulation parses inner instructions as Agave's nodes do. False if it shows them as
   * bytes, as other nodes may. Default true.
   */
  parsesCalls: boolean;
  intercept: Intercept | undefined;
  /** Returns the number of calls to the node, over HTTP and WebSocket. */
  calls(filter?: CallFilter): number;
  callsByMethod(caller?: string): Record<string, number>;
  resetCalls(): void;
  /**
   * Adds a fault to the calls of a method, or of all methods with `*`. Calls meet faults in the
   * order in which they were added. Returns a function that removes the fault.
   * With `caller`, only calls of that caller meet it, so that a client can use the node as two
   * nodes with two caller names.
   */
  fault(method: string, fault: NodeFault, caller?: string): () => void;
  /**
   * Makes methods of an honest node lag by a number of slots, such as
   * `{ getSignaturesForAddress: 250 }`; `{}` ends all lags. Methods about history silently leave
   * out newer transactions. Methods about blocks answer for the older block, and refuse a newer
   * `minContextSlot`.
   */
  lag(slots: Lags, caller?: string): void;
  /** Ends faults and lags. */
  clearFaults(): void;
  /**
   * Skips a number of slots at once. The default expires every blockhash, also for readers of
   * finalized blocks.
   */
  warp(slots?: number): void;
}
