import { counts, type Cap } from '../policy/caps.js';
import type { Attempt, Journal } from './types.js';

// Closed attempts older than any cap's window are kept only up to this many.
const KEPT = 10_000;

/**
 * A journal in memory: right for one process, forgotten when it ends.
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(): Journal {
  const attempts = new Map<string, Attempt>();
  const used = (wallet: string, cap: Cap, now: number): bigint => {
    let sum = 0n;
    for (const { wallet: owner, host, state, at, microUsd } of attempts.values()) {
      if (owner === wallet && state !== 'unsettled' && at > now - cap.windowMs && counts(cap, host)) sum += BigInt(microUsd ?? 0);
    }
    return sum;
  };
  return {
    // No await between the check and the write: in one process that makes them one step.
    reserve(attempt, caps) {
      const cost = BigInt(attempt.microUsd ?? 0);
      for (const cap of caps) {
        if (!counts(cap, attempt.host)) continue;
        const spent = used(attempt.wallet, cap, attempt.at);
        if (spent + cost > cap.limit) return Promise.resolve({ cap, used: spent });
      }
      attempts.set(attempt.id, attempt);
      prune(attempts, attempt.at - Math.max(0, ...caps.map((cap) => cap.windowMs)));
      return Promise.resolve(undefined);
    },
    put(attempt) {
      attempts.set(attempt.id, attempt);
      return Promise.resolve();
    },
    release(id) {
      attempts.delete(id);
      return Promise.resolve();
    },
    async *attempts({ wallet, state }) {
      for (const attempt of [...attempts.values()]) {
        if ((wallet === undefined || attempt.wallet === wallet) && (state === undefined || attempt.state === state)) yield attempt;
      }
    },
    used: (wallet, caps, now) => Promise.resolve(caps.map((cap) => used(wallet, cap, now))),
  };
}

function prune(attempts: Map<string, Attempt>, before: number): void {
  if (attempts.size <= KEPT) return;
  for (const { id, state, at } of attempts.values()) {
    if (attempts.size <= KEPT) return;
    if (at < before && (state === 'settled' || state === 'unsettled')) attempts.delete(id);
  }
}
