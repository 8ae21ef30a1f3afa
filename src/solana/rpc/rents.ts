import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { Rpc } from './rpc.js';

/**
 * For how long a rent holds, in milliseconds: it follows from a constant of the cluster, which
 * changes between epochs at most. A transaction that counts on an older one fails in simulation.
 */
const MAX_AGE_MS = 10 * 60_000;
/** A token account has one of few sizes, whatever its mint. */
const MAX_SIZES = 64;

/** A connection that asks for the rent of each size of account once in ten minutes. */
export function keepRents(rpc: Rpc, runtime: Pick<Runtime, 'now'>): Rpc {
  const kept = new Map<number, { readonly at: number; readonly lamports: Promise<bigint> }>();
  return {
    ...rpc,
    rent(bytes, call) {
      const known = kept.get(bytes);
      if (known !== undefined && sinceThen(runtime, known.at) < MAX_AGE_MS)
        return untilAborted(known.lamports, call?.signal);
      // No signal: the request is shared, and one caller giving up must not end it for the others.
      const lamports = rpc.rent(bytes);
      if (kept.size >= MAX_SIZES) kept.clear();
      kept.set(bytes, { at: runtime.now(), lamports });
      lamports.catch(() => {
        if (kept.get(bytes)?.lamports === lamports) kept.delete(bytes);
      });
      return untilAborted(lamports, call?.signal);
    },
  };
}
