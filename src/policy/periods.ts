/** @inline */
export type Period = 'payment' | 'minute' | 'hour' | 'day' | 'total';

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;

/** The window of each period in milliseconds; 0 for a single payment, undefined for ever. */
export const PERIODS: readonly (readonly [name: Period, windowMs: number | undefined])[] = [
  ['payment', 0],
  ['minute', 60 * 1000],
  ['hour', HOUR_MS],
  ['day', DAY_MS],
  ['total', undefined],
];

export function periodOf(windowMs: number): string {
  return PERIODS.find(([, ms]) => ms === windowMs)?.[0] ?? `${windowMs} ms`;
}
