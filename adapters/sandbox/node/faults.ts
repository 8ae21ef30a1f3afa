import type { Json } from '../chain/json.js';
import type { Fault } from '../types.js';
import type { Lags } from './behind.js';

/** An error in JSON-RPC's sense, with the codes and sentences of Agave. */
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

/** A fault of the node: of the connection, as every service has them, or of JSON-RPC. */
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
   * The number at this place of the answer, as `value.lastValidBlockHeight`, is off by so much; all
   * else is right.
   */
  | { readonly kind: 'offBy'; readonly at: string; readonly by: number; readonly times?: number }
  /** `sendTransaction` answers the signature and forgets the transaction. */
  | { readonly kind: 'neverLands'; readonly times?: number };

interface Armed {
  readonly method: string;
  readonly fault: NodeFault;
  /** The one that meets it; undefined: everyone. */
  readonly caller: string | undefined;
  left: number;
}

/** The faults to come, in the order they were ordered, and what is behind. */
export class Faults {
  private armed: Armed[] = [];
  private readonly lags = new Map<string | undefined, Lags>();

  /** `*` is every method. Returns how to call the fault off. */
  add(method: string, fault: NodeFault, caller?: string): () => void {
    const entry = { method, fault, caller, left: fault.times ?? Infinity };
    this.armed.push(entry);
    return () => {
      this.armed = this.armed.filter((other) => other !== entry);
    };
  }

  /** Takes the place of what was said before for this caller, or for everyone. */
  lag(lags: Lags, caller?: string): void {
    this.lags.set(caller, lags);
  }

  /** Slots that a method is behind for a caller. */
  slotsBehind(method: string, caller: string): bigint {
    const slots = [this.lags.get(caller), this.lags.get(undefined)].map((lags) =>
      new Map(Object.entries(lags ?? {})).get(method),
    );
    return BigInt(slots.find((one) => one !== undefined) ?? 0);
  }

  clear(): void {
    this.armed = [];
    this.lags.clear();
  }

  /** The fault that this call meets, used up by one. */
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
