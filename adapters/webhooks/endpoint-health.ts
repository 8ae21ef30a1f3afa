import type { Endpoint } from '../../src/outbox/outbox.js';
import { SHORTEST_MS } from './schedule.js';

/**
 * What becomes of an endpoint by how it answers. Each is a change of the endpoint as it is by then;
 * undefined leaves it.
 */
type Change = (endpoint: Endpoint) => Endpoint | undefined;

/**
 * How exactly it is on record when an endpoint accepted something: not one write for each delivery.
 */
const HOUR_MS = 60 * 60_000;

/** Whether it is to be put on record that an endpoint accepts what it is told. */
export function isNews({ acceptedAt }: Endpoint, now: number): boolean {
  return acceptedAt === undefined || now - acceptedAt >= HOUR_MS;
}

export function accepting(now: number): Change {
  return (endpoint) => (isNews(endpoint, now) ? { ...endpoint, acceptedAt: now } : undefined);
}

/**
 * Tells an endpoint nothing more. Not if it has a new secret by now, as a caller that rotates
 * wants it to be told again; nor, unless it is gone, if it accepted anything in the time that
 * one event is tried for: then it is the event that it cannot take.
 */
export function disabling(seen: Endpoint, now: number, isGone: boolean): Change {
  return (endpoint) => {
    const { acceptedAt = -Infinity, disabledAt, secrets } = endpoint;
    if (disabledAt !== undefined || secrets[0]?.secret !== seen.secrets[0]?.secret)
      return undefined;
    return isGone || acceptedAt < now - SHORTEST_MS ? { ...endpoint, disabledAt: now } : undefined;
  };
}
