import { randomBytes } from '../internal/random.js';
import { createLedger } from './balance-ledger.js';
import { createLocks } from './locks.js';
import type { Coordination } from './types.js';

// Payments without a nonce of their own differ by a number. Counting from a random start tells
// processes apart that know nothing of each other.
const SPREAD = 500;
const MAX_NAMES = 2_048;

/**
 * What the payers of one process share, in memory.
 *
 * @param counts - How far is counted under each name, oldest first.
 */
export function createCoordination(counts: Map<string, number> = new Map()): Coordination {
  const claimed = new Set<string>();
  return {
    ledger: createLedger(),
    locks: createLocks(),
    claims: {
      take: (ids) => Promise.resolve(ids.forEach((id) => claimed.add(id))),
      drop: (ids) => Promise.resolve(ids.forEach((id) => claimed.delete(id))),
      live: (ids) => Promise.resolve(new Set(ids.filter((id) => claimed.has(id)))),
    },
    next(name) {
      const last = counts.get(name) ?? start();
      // Names are blockhashes: each was valid when it came, and a chain has some 150 valid ones at
      // a time.
      for (const oldest of counts.keys()) {
        if (counts.size < MAX_NAMES || counts.has(name)) break;
        counts.delete(oldest);
      }
      counts.set(name, last + 1);
      return Promise.resolve(last + 1);
    },
  };
}

function start(): number {
  const [high = 0, low = 0] = randomBytes(2);
  return (high * 256 + low) % SPREAD;
}
