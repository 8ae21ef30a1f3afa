/** How long endpoints take, by caller: as the last delivery, or half of what was said before. */
export interface Paces {
  /** Milliseconds; undefined if nothing was delivered. */
  of(caller: string, endpoint: string): number | undefined;
  note(caller: string, endpoint: string, ms: number, used: number): void;
  /** What was noted last of all the time that a caller's deliveries took. */
  usedBy(caller: string): number;
  /** Of a caller, the endpoints that take less. */
  quickerThan(caller: string, ms: number): string[];
  /**
   * Whether a caller's last deliveries took as long, to whichever of its endpoints: one that is
   * registered anew makes no difference.
   */
  isLate(caller: string, ms: number): boolean;
}

/** Of how many callers, and endpoints of each, it is remembered. */
const CALLERS = 1_000;
const ENDPOINTS = 200;

export function createPaces(): Paces {
  const all = new Map<
    string,
    { readonly pace: number; readonly used: number; readonly endpoints: Map<string, number> }
  >();
  return {
    of: (caller, endpoint) => all.get(caller)?.endpoints.get(endpoint),
    note(caller, endpoint, ms, used) {
      const { pace = 0, endpoints = new Map<string, number>() } = all.get(caller) ?? {};
      remember(
        endpoints,
        endpoint,
        Math.max(ms, Math.floor((endpoints.get(endpoint) ?? 0) / 2)),
        ENDPOINTS,
      );
      remember(all, caller, { pace: Math.max(ms, Math.floor(pace / 2)), used, endpoints }, CALLERS);
    },
    usedBy: (caller) => all.get(caller)?.used ?? 0,
    quickerThan: (caller, ms) =>
      [...(all.get(caller)?.endpoints ?? [])].flatMap(([endpoint, pace]) =>
        pace < ms ? endpoint : [],
      ),
    isLate: (caller, ms) => (all.get(caller)?.pace ?? 0) >= ms,
  };
}

/** Beyond the most, that goes which was changed longest ago. */
function remember<T>(all: Map<string, T>, key: string, value: T, most: number): void {
  all.delete(key);
  all.set(key, value);
  const [first] = all.keys();
  if (all.size > most && first !== undefined) all.delete(first);
}
