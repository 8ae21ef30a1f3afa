import type { Json } from '../chain/json.js';
import type { CallFilter } from './calls.js';
import type { NodeFault } from './faults.js';

/**
 * Stands between a call and its handling and may alter what is asked and what is answered: the place for a node that lies.
 * `next()` handles the call as asked, `next(otherParams)` another; throw an `RpcError` to answer an error.
 */
export type Intercept = (method: string, params: unknown, next: (params?: unknown) => Json) => Json | Promise<Json>;

/** How a test or a demo moves the node. */
export interface NodeControls {
  /** Milliseconds added to every HTTP call, half before it is handled and half after. */
  latencyMs: number;
  /** Milliseconds a slot lasts; 0 stops time, so that only `warp` moves it. */
  slotMs: number;
  /** Milliseconds from `sendTransaction` to `confirmed`; 0 makes it immediate. */
  confirmationMs: number;
  /** `silent` takes subscriptions and never notifies; `off` refuses connections and cuts those there are. */
  webSocket: 'on' | 'silent' | 'off';
  intercept: Intercept | undefined;
  /** How often the node was called, over HTTP and WebSocket. */
  calls(filter?: CallFilter): number;
  callsByMethod(caller?: string): Record<string, number>;
  resetCalls(): void;
  /** Lets the calls of a method (`*`: of every one) meet a fault, in the order in which faults were added. Returns how to call it off. */
  fault(method: string, fault: NodeFault): () => void;
  clearFaults(): void;
  /** Lets so many slots pass at once; by default as many as expire every blockhash there is, also in the eyes of who reads finalized blocks. */
  warp(slots?: number): void;
}
