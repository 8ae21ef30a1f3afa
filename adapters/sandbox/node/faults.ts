import type { Json } from '../chain/json.js';
import type { Fault } from '../types.js';

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
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: Json; readonly times?: number }
  /** HTTP 429, with a Retry-After in seconds if given. */
  | { readonly kind: 'rateLimited'; readonly retryAfter?: number; readonly times?: number }
  /** `sendTransaction` answers the signature and forgets the transaction. */
  | { readonly kind: 'neverLands'; readonly times?: number };

interface Armed {
  readonly method: string;
  readonly fault: NodeFault;
  left: number;
}

/** The faults to come, in the order they were ordered. */
export class Faults {
  private armed: Armed[] = [];

  /** `*` is every method. Returns how to call the fault off. */
  add(method: string, fault: NodeFault): () => void {
    const entry = { method, fault, left: fault.times ?? Infinity };
    this.armed.push(entry);
    return () => {
      this.armed = this.armed.filter((other) => other !== entry);
    };
  }

  clear(): void {
    this.armed = [];
  }

  /** The fault that this call meets, used up by one. */
  take(method: string): NodeFault | undefined {
    const entry = this.armed.find((armed) => armed.method === method || armed.method === '*');
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.armed = this.armed.filter((other) => other !== entry);
    return entry.fault;
  }
}
