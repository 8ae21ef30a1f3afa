import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { Lifetime } from '../types.js';
import type { CallOptions, Rpc } from './rpc.js';

/** Caches the blockhashes of one node. Callers at the same time share one request. */
export interface BlockhashSource {
  /** Returns a blockhash at most 2 s old, for transactions that need its whole life. */
  fresh(options?: CallOptions): Promise<Lifetime>;
  /**
   * Returns a blockhash at most 15 s and, by the measured pace of the chain, 40 slots old. It
   * starts a fetch of a newer blockhash without waiting for it. A payment settles within seconds,
   * and a blockhash lives for 150 blocks.
   */
  recent(options?: CallOptions): Promise<Lifetime>;
  /** Drops a blockhash from the cache, because the chain showed that it expired. */
  expire(blockhash: string): void;
}

const FRESH_MS = 2_000;
const RECENT_MS = 15_000;
const RECENT_SLOTS = 40;

interface Dated {
  readonly value: Lifetime;
  /** Time of the request, not of the reply, because a slow reply may be the node's fault. */
  readonly at: number;
  /** Milliseconds from `at` for which the blockhash counts as recent. */
  readonly recentMs: number;
}

/** Fetches blockhashes from the caller's own node, each with the last height of the same reply. */
export function createBlockhashSource(rpc: Rpc, runtime: Runtime): BlockhashSource {
  let cached: Dated | undefined;
  let pending: Promise<Dated> | undefined;

  const request = (minContextSlot?: number): Promise<Dated> => {
    const at = runtime.now();
    // Pass no signal: callers share the request, so an abort by one caller must not end it.
    const mine = rpc
      .latestBlockhash({ minContextSlot })
      .then((value) => ({ value, at, recentMs: recentFor(value.slot, at, cached) }));
    pending = mine;
    const settle = (result: Dated | undefined) => {
      // A newer request, for a later slot, has replaced this request.
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
    // Another waiting caller may have started a request meanwhile. It began after this call, so its
    // reply is as new as the reply to a separate request would be.
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
 * Returns for how long a blockhash is recent, by the time that the chain took for 40 slots. That
 * takes two replies. A node with no later slot may lag or be stuck, so its reply proves no pace.
 */
function recentFor(slot: number, at: number, earlier: Dated | undefined): number {
  const slots = slot - (earlier?.value.slot ?? slot);
  if (earlier === undefined || slots <= 0) return FRESH_MS;
  const ms = ((at - earlier.at) * RECENT_SLOTS) / slots;
  return Math.min(RECENT_MS, Math.max(FRESH_MS, ms));
}
