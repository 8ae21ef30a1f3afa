const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Delay of each try after the previous failure, as in the schedule of Standard Webhooks. There are
 * as many tries as entries.
 */
export const SCHEDULE_MS = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

const LONGEST_ASKED_MS = 24 * HOUR_MS;
/** Part of a delay by which it varies, so that failures of one moment do not retry together. */
const JITTER = 0.1;

/** Statuses that ask for a later try, possibly with `Retry-After` (RFC 6585, RFC 9110). */
const ASKS_TO_WAIT: readonly number[] = [429, 503];

/**
 * Returns the time of the next try, in milliseconds since the epoch; undefined after the last try.
 * `failures` includes the latest failure, `random` is from 0 to 1.
 */
export function nextTry(
  failures: number,
  now: number,
  random: number,
  askedMs = 0,
): number | undefined {
  const delay = SCHEDULE_MS[failures];
  if (delay === undefined) return undefined;
  const planned = Math.round(delay * (1 - JITTER + 2 * JITTER * random));
  return now + Math.max(planned, Math.min(askedMs, LONGEST_ASKED_MS));
}

/**
 * Returns the milliseconds that an answer asks to wait; 0 if it does not ask. `Retry-After` is
 * seconds or a date.
 */
export function askedWait(status: number, retryAfter: string | undefined, now: number): number {
  if (retryAfter === undefined || !ASKS_TO_WAIT.includes(status)) return 0;
  const text = retryAfter.trim();
  if (/^[0-9]+$/.test(text)) return Number(text) * SECOND_MS;
  const date = /^[A-Z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** Returns the milliseconds to wait after an outbox has failed `failures` times in a row. */
export function backoffAfter(failures: number, random: number): number {
  const pause = Math.min(SECOND_MS * 2 ** (failures - 1), MINUTE_MS);
  return Math.round(pause * (1 - JITTER + 2 * JITTER * random));
}
