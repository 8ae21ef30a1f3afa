import type { Json } from '../chain/json.js';
import type { Fault } from '../types.js';
import type { Lags } from './behind.js';

/** A JSON-RPC error, with a code and a sentence of Agave. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Json,
  ) {
    super(message);
  }
}

export const invalidParams = (message: string) => new RpcError(-32602, message);

/** A fault of the node: a fault of the connection, as in every service, or of JSON-RPC. */
export type NodeFault =
  | Fault
  /** A JSON-RPC error with this code. */
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly message: string;
      readonly data?: Json;
      readonly times?: number;
    }
  /** HTTP 429, with a Retry-After in seconds if given. */
  | { readonly kind: 'rateLimited'; readonly retryAfter?: number; readonly times?: number }
  /**
   * Adds `by` to the number at a path of the answer, such as `value.lastValidBlockHeight`; the rest
   * of the answer is correct.
   */
  | { readonly kind: 'offBy'; readonly at: string; readonly by: number; readonly times?: number }
  /** `sendTransaction` answers the signature and forgets the transaction. */
  | { readonly kind: 'neverLands'; readonly times?: number };

interface Armed {
  readonly method: string;
  readonly fault: NodeFault;
  /** Name of the caller that meets the fault; undefined for every caller. */
  readonly caller: string | undefined;
  left: number;
}

/** The armed faults, in the order in which they were added, and the lags. */
export class Faults {
  private armed: Armed[] = [];
  private readonly lags = new Map<string | undefined, Lags>();

  /** Adds a fault; `*` is every method. Returns a function that removes the fault. */
  add(method: string, fault: NodeFault, caller?: string): () => void {
    const entry = { method, fault, caller, left: fault.times ?? Infinity };
    this.armed.push(entry);
    return () => {
      this.armed = this.armed.filter((other) => other !== entry);
    };
  }

  /** Replaces the lags of a caller; without `caller`, those for every caller. */
  lag(lags: Lags, caller?: string): void {
    this.lags.set(caller, lags);
  }

  /** Returns the number of slots by which a method is behind for a caller. */
  slotsBehind(method: string, caller: string): bigint {
    const slots = [this.lags.get(caller), this.lags.get(undefined)].map((lags) =>
      new Map(Object.entries(lags ?? {})).get(method),
    );
    return BigInt(slots.find((count) => count !== undefined) ?? 0);
  }

  clear(): void {
    this.armed = [];
    this.lags.clear();
  }

  /** Returns the fault that a call meets, and counts it as used. */
  take(method: string, caller: string): NodeFault | undefined {
    const entry = this.armed.find(
      (armed) =>
        (armed.method === method || armed.method === '*') &&
        (armed.caller === undefined || armed.caller === caller),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.armed = this.armed.filter((other) => other !== entry);
    return entry.fault;
  }
}
