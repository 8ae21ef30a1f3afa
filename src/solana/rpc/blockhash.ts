import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { Lifetime } from '../types.js';
import type { CallOptions, Rpc } from './rpc.js';

/** A blockhash, how long it lives, and the slot that the node had seen. */
export interface FreshBlockhash extends Lifetime {
  readonly slot: number;
}

/** Blockhashes of one node. Callers at the same time share one request. */
export interface BlockhashSource {
  /** At most 2 s old: for what needs all of its life. */
  fresh(options?: CallOptions): Promise<FreshBlockhash>;
  /**
   * At most 15 s and 40 slots old, by the pace that the chain was seen to go; beside the caller, a
   * newer one is fetched. A payment settles within seconds, and a blockhash lives for 150 blocks.
   */
  recent(options?: CallOptions): Promise<FreshBlockhash>;
  /** The chain was seen to have outlived a blockhash, whatever the clock says. */
  expire(blockhash: string): void;
}

const FRESH_MS = 2_000;
const RECENT_MS = 15_000;
const RECENT_SLOTS = 40;

interface Dated {
  readonly value: FreshBlockhash;
  /** When it was asked for: how long the reply took is not known to be the network's doing. */
  readonly at: number;
  /** For so many milliseconds it is recent. */
  readonly recentMs: number;
}

/** Fetches blockhashes from the caller's own node, each with the last height of the same reply. */
export function createBlockhashSource(rpc: Rpc, runtime: Runtime): BlockhashSource {
  let cached: Dated | undefined;
  let pending: Promise<Dated> | undefined;

  const request = (minContextSlot?: number): Promise<Dated> => {
    const at = runtime.now();
    // No signal: the request is shared, and one caller giving up must not end it for the others.
    const mine = rpc
      .latestBlockhash({ minContextSlot })
      .then((value) => ({ value, at, recentMs: recentFor(value.slot, at, cached) }));
    pending = mine;
    const settle = (result: Dated | undefined) => {
      // Superseded meanwhile by a request for a later slot.
      if (pending !== mine) return;
      pending = undefined;
      if (result !== undefined) cached = result;
    };
    mine.then(settle, () => settle(undefined));
    return mine;
  };

  const find = async (
    isNew: (dated: Dated) => boolean,
    { signal, minContextSlot }: CallOptions,
  ): Promise<Dated> => {
    if (signal?.aborted === true) throw signal.reason;
    const serves = (dated: Dated) => isNew(dated) && dated.value.slot >= (minContextSlot ?? 0);
    if (cached !== undefined && serves(cached)) return cached;
    const joined = pending === undefined ? undefined : await untilAborted(pending, signal);
    if (joined !== undefined && serves(joined)) return joined;
    // Another that waited may have asked meanwhile: that request began after this call, so that its
    // reply is as new as one of its own, however long a busy process takes to read it.
    const shared = minContextSlot === undefined ? pending : undefined;
    return untilAborted(shared ?? request(minContextSlot), signal);
  };

  const isFresh = ({ at }: Dated) => sinceThen(runtime, at) < FRESH_MS;
  const isRecent = ({ at, recentMs }: Dated) => sinceThen(runtime, at) < recentMs;
  return {
    fresh: async (options = {}) => (await find(isFresh, options)).value,
    async recent(options = {}) {
      const found = await find(isRecent, options);
      if (pending === undefined && !isFresh(found)) void request();
      return found.value;
    },
    expire(blockhash) {
      if (cached?.value.blockhash === blockhash) cached = undefined;
    },
  };
}

/**
 * How long a chain takes for 40 slots shows from two replies. After one alone it is not known, nor
 * by a node that has come no further: it may be behind the one that was asked before, or stuck.
 */
function recentFor(slot: number, at: number, earlier: Dated | undefined): number {
  const slots = slot - (earlier?.value.slot ?? slot);
  if (earlier === undefined || slots <= 0) return FRESH_MS;
  const ms = ((at - earlier.at) * RECENT_SLOTS) / slots;
  return Math.min(RECENT_MS, Math.max(FRESH_MS, ms));
}
