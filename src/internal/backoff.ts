import type { Runtime } from './runtime.js';

/** The longest wait before a retry, even if the answer asks for more. */
export const MAX_WAIT_MS = 10_000;

/**
 * Returns the milliseconds that an answer asks us to wait: `Retry-After` (seconds or a date), or
 * Jupiter's `x-ratelimit-reset` (unix seconds). Undefined if it asks for no wait.
 */
export function askedWait(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim();
  if (after !== undefined && /^[0-9]{1,9}$/.test(after)) return Number(after) * 1000;
  const date = after === undefined || /^-?[0-9.]+$/.test(after) ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  const reset = headers.get('x-ratelimit-reset')?.trim() ?? '';
  return /^[0-9]{1,12}$/.test(reset) ? Math.max(0, Number(reset) * 1000 - now) : undefined;
}

/**
 * Adds up to a quarter to a wait, so that clients that were refused together do not come back
 * together.
 */
export function withJitter(ms: number, { randomBytes }: Pick<Runtime, 'randomBytes'>): number {
  const [random = 0] = randomBytes(1);
  return ms + Math.round((ms * random) / 1024);
}
