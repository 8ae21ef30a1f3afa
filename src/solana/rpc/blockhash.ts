import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { Lifetime } from '../types.js';
import type { CallOptions, Rpc } from './rpc.js';

/** A blockhash, how long it lives, and the slot that the node had seen. */
export interface FreshBlockhash extends Lifetime {
  readonly slot: number;
}

export interface BlockhashSource {
  /** A blockhash not older than the source allows; callers at the same time share one request. */
  fresh(options?: CallOptions): Promise<FreshBlockhash>;
  /** Forgets the blockhash, so that the next caller gets another one. */
  drop(): void;
}

interface Cached {
  readonly value: FreshBlockhash;
  readonly at: number;
}

/** Fetches blockhashes from the caller's own node, each with the last height of the same reply. */
export function createBlockhashSource(
  rpc: Rpc,
  runtime: Runtime,
  maxAgeMs: number,
): BlockhashSource {
  let cached: Cached | undefined;
  let pending: Promise<Cached> | undefined;

  const isFresh = ({ value, at }: Cached, minSlot: number) =>
    sinceThen(runtime, at) < maxAgeMs && value.slot >= minSlot;

  const request = (minContextSlot: number | undefined): Promise<Cached> => {
    // Age counts from the request: how long the reply took is not known to be the network's doing.
    const at = runtime.now();
    // No signal: the request is shared, and one caller giving up must not end it for the others.
    const mine = rpc.latestBlockhash({ minContextSlot }).then((value) => ({ value, at }));
    pending = mine;
    const settle = (result: Cached | undefined) => {
      // Dropped or superseded in the meantime: the calls that wait get it, no later one does.
      if (pending !== mine) return;
      pending = undefined;
      if (result !== undefined) cached = result;
    };
    mine.then(settle, () => settle(undefined));
    return mine;
  };

  return {
    async fresh({ signal, minContextSlot } = {}) {
      if (signal?.aborted === true) throw signal.reason;
      const minSlot = minContextSlot ?? 0;
      if (cached !== undefined && isFresh(cached, minSlot)) return cached.value;
      const shared = pending === undefined ? undefined : await untilAborted(pending, signal);
      if (shared !== undefined && isFresh(shared, minSlot)) return shared.value;
      return (await untilAborted(request(minContextSlot), signal)).value;
    },
    drop() {
      cached = undefined;
      pending = undefined;
    },
  };
}
