import type { Endpoint } from '../../src/outbox/outbox.js';
import { SHORTEST_MS } from './schedule.js';

/**
 * Returns the changed record of an endpoint, by its record at that moment; undefined for no change.
 */
type Change = (endpoint: Endpoint) => Endpoint | undefined;

/** Precision of `acceptedAt`: not every delivery writes the endpoint's record. */
const HOUR_MS = 60 * 60_000;

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
 * wants deliveries again. If it accepted any event while this event was tried, only this event is
 * at fault; an endpoint that answered 410 (`isGone`) is disabled all the same.
 */
export function markDisabled(seen: Endpoint, now: number, isGone: boolean): Change {
  return (endpoint) => {
    const { acceptedAt = -Infinity, disabledAt, secrets } = endpoint;
    if (disabledAt !== undefined || secrets[0]?.secret !== seen.secrets[0]?.secret)
      return undefined;
    return isGone || acceptedAt < now - SHORTEST_MS ? { ...endpoint, disabledAt: now } : undefined;
  };
}
