import { setNewest } from '../../src/internal/newest.js';

/**
 * Remembers how long endpoints take, by caller. A pace is the time of the last delivery, but at
 * least half of the previous pace.
 */
export interface Paces {
  /** Returns the pace of an endpoint in milliseconds; undefined before its first delivery. */
  of(caller: string, endpoint: string): number | undefined;
  note(caller: string, endpoint: string, ms: number, used: number): void;
  /** Returns the last noted `used`: milliseconds that all deliveries of a caller took. */
  usedBy(caller: string): number;
  /** Returns the endpoints of a caller with a pace below `ms`. */
  quickerThan(caller: string, ms: number): string[];
  /**
   * Whether the pace of a caller over all its endpoints is at least `ms`. So a caller does not
   * become quick by registering an endpoint again.
   */
  isLate(caller: string, ms: number): boolean;
}

/** The most callers, and endpoints of each caller, that are remembered. */
const CALLERS = 1_000;
const ENDPOINTS = 200;

export function createPaces(): Paces {
  const callers = new Map<
    string,
    { readonly pace: number; readonly used: number; readonly endpoints: Map<string, number> }
  >();
  return {
    of: (caller, endpoint) => callers.get(caller)?.endpoints.get(endpoint),
    note(caller, endpoint, ms, used) {
      const { pace = 0, endpoints = new Map<string, number>() } = callers.get(caller) ?? {};
      setNewest(
        endpoints,
        endpoint,
        Math.max(ms, Math.floor((endpoints.get(endpoint) ?? 0) / 2)),
        ENDPOINTS,
      );
      setNewest(
        callers,
        caller,
        { pace: Math.max(ms, Math.floor(pace / 2)), used, endpoints },
        CALLERS,
      );
    },
    usedBy: (caller) => callers.get(caller)?.used ?? 0,
    quickerThan: (caller, ms) =>
      [...(callers.get(caller)?.endpoints ?? [])].flatMap(([endpoint, pace]) =>
        pace < ms ? endpoint : [],
      ),
    isLate: (caller, ms) => (callers.get(caller)?.pace ?? 0) >= ms,
  };
}
