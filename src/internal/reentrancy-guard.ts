import type { ConfigError } from '../errors.js';
import { refuse } from './options.js';
import { isObject, isPlain } from './record.js';

type Fetch = typeof globalThis.fetch;

/**
 * Sends requests through the caller's fetch. It may call the global fetch that pays, at once or
 * later, and such requests must not be paid.
 */
export interface ReentrancyGuard {
  /** Sends a request through the caller's fetch, with a mark. */
  readonly send: Fetch;
  /** Whether a request was sent through this guard, and has come back to the global fetch. */
  isReturning(init: RequestInit | null | undefined): boolean;
}

// No process has so many requests under way at once, unless each request causes the next.
const MOST_PENDING = 1_000;

/**
 * Creates a guard. It recognises a request by a field of its init that no fetch reads, or by its
 * time: it comes while the caller's fetch is being called.
 */
export function createReentrancyGuard(callerFetch: Fetch): ReentrancyGuard {
  const mark = Symbol('exact-change.passing');
  let pending = 0;
  let calling = false;
  return {
    async send(input, init) {
      if (pending >= MOST_PENDING) throw endless();
      pending += 1;
      try {
        calling = true;
        const answer = callerFetch(
          input,
          isPlain(init ?? {}) ? Object.assign({ ...init }, { [mark]: true }) : init,
        );
        calling = false;
        return await answer;
      } finally {
        calling = false;
        pending -= 1;
      }
    },
    isReturning: (init) => calling || (isObject(init) && mark in init),
  };
}

function endless(): ConfigError {
  return refuse(
    'fetch',
    `has ${MOST_PENDING} requests under way: it seems to send them to the global fetch, which pays and sends them to it. Have it call the fetch that was global before.`,
  );
}
