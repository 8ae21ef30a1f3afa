import { ConfigError } from '../errors.js';
import { isPlain } from './record.js';

type Fetch = typeof globalThis.fetch;

/**
 * The way of requests through a fetch of the caller's, which may call the global fetch that pays,
 * at once or later.
 */
export interface ReentrancyGuard {
  /** Sends a request through the caller's fetch, recognisable. */
  readonly send: Fetch;
  /** Whether a request was sent through here, and has come round to the global fetch. */
  isReturning(init: RequestInit | null | undefined): boolean;
}

// No process has so many requests under way at once, unless each is the making of the one before.
const MOST_PENDING = 1_000;

/**
 * Requests are told by a member of their init that no fetch reads, or by coming while the caller's
 * fetch is still being called.
 */
export function createReentrancyGuard(given: Fetch): ReentrancyGuard {
  const mark = Symbol('exact-change.passing');
  let pending = 0;
  let calling = false;
  return {
    async send(input, init) {
      if (pending >= MOST_PENDING) throw endless();
      pending += 1;
      try {
        calling = true;
        const answer = given(
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
    isReturning: (init) => calling || (typeof init === 'object' && init !== null && mark in init),
  };
}

function endless(): ConfigError {
  return new ConfigError(
    'invalid_option',
    `Option fetch has ${MOST_PENDING} requests under way: it seems to send them to the global fetch, which pays and sends them to it. Have it call the fetch that was global before.`,
    { details: { option: 'fetch' } },
  );
}
