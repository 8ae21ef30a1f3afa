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
const MOST_PENDING = 10_000;

/**
 * Creates a guard. It recognises a request by a field of its init that no fetch reads, or by its
 * time: it comes while the caller's fetch is being called.
 */
export function createReentrancyGuard(callerFetch: Fetch): ReentrancyGuard {
  const mark = Symbol('exact-change.passing');
  let pending = 0;
  // From the limit until an answer, failures free no place: a loop may try each request again.
  let isFull = false;
  let calling = false;
  return {
    async send(input, init) {
      isFull ||= pending >= MOST_PENDING;
      if (isFull) throw endless();
      pending += 1;
      try {
        calling = true;
        const answer = callerFetch(
          input,
          isPlain(init ?? {}) ? Object.assign({ ...init }, { [mark]: true }) : init,
        );
        calling = false;
        const response = await answer;
        isFull = false;
        return response;
      } finally {
        calling = false;
        pending -= 1;
        isFull &&= pending > 0;
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
