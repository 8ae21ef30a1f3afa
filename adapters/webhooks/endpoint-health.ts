import type { Endpoint } from '../../src/outbox/outbox.js';

/**
 * Returns the changed record of an endpoint, by its record at that moment; undefined for no change.
 */
type Change = (endpoint: Endpoint) => Endpoint | undefined;

/** Precision of `acceptedAt`: not every delivery writes the endpoint's record. */
const HOUR_MS = 60 * 60_000;
/** The last acceptance may be as much later than `acceptedAt` as that is precise. */
const ACCEPTS_NOTHING_MS = 3 * 24 * HOUR_MS + HOUR_MS;

/** Whether `acceptedAt` of an endpoint is old enough to write it again. */
export function isAcceptanceStale({ acceptedAt }: Endpoint, now: number): boolean {
  return acceptedAt === undefined || now - acceptedAt >= HOUR_MS;
}

export function markAccepted(now: number): Change {
  return (endpoint) =>
    isAcceptanceStale(endpoint, now) ? { ...endpoint, acceptedAt: now } : undefined;
}

/**
 * Disables an endpoint, with two exceptions. If the endpoint has a new secret by now, its caller
 * wants deliveries again. If it accepted any event in the last three days, only this event is at
 * fault; an endpoint that answered 410 (`isGone`) is disabled all the same.
 */
export function markDisabled(seen: Endpoint, now: number, isGone: boolean): Change {
  return (endpoint) => {
    const { acceptedAt = -Infinity, disabledAt, secrets } = endpoint;
    if (disabledAt !== undefined || secrets[0]?.secret !== seen.secrets[0]?.secret)
      return undefined;
    const isDead = isGone || acceptedAt < now - ACCEPTS_NOTHING_MS;
    return isDead ? { ...endpoint, disabledAt: now } : undefined;
  };
}
