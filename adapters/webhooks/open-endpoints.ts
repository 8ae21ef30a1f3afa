/**
 * Endpoints that take longer than this are late. Milliseconds. All late endpoints of a caller share
 * half of its places. So an endpoint that answers in time waits for none of them.
 */
export const LATE_MS = 2_000;
/**
 * Parts of a caller's places: for its late endpoints together, and for its late endpoints together
 * with endpoints of unknown pace.
 */
const UNPROVEN = 3 / 4;
const LATE = 1 / 2;

/** The current deliveries of one caller's endpoints. */
interface EndpointsOfCaller {
  /** The endpoint of each running delivery. */
  readonly running: readonly string[];
  /** Endpoints with waiting jobs. */
  readonly waiting: readonly string[];
  /** Milliseconds that an endpoint takes; undefined if nothing is known. */
  readonly paceOf: (endpoint: string) => number | undefined;
  readonly concurrency: number;
  readonly perEndpoint: number;
}

/** Returns the waiting endpoints to which a delivery may begin. */
export function openEndpoints({
  running,
  waiting,
  paceOf,
  concurrency,
  perEndpoint,
}: EndpointsOfCaller): string[] {
  const counts = new Map<string, number>();
  for (const endpoint of running) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
  const paces = new Map(
    [...counts.keys(), ...waiting].map((endpoint) => [endpoint, paceOf(endpoint)]),
  );
  const isLate = (endpoint: string) => (paces.get(endpoint) ?? 0) >= LATE_MS;
  const isUnproven = (endpoint: string) => paces.get(endpoint) === undefined || isLate(endpoint);
  const isPartFull = (part: number, isIn: (endpoint: string) => boolean) =>
    [...counts].reduce((sum, [endpoint, count]) => sum + (isIn(endpoint) ? count : 0), 0) >=
    Math.max(1, Math.floor(concurrency * part));
  const [isLateFull, isUnprovenFull] = [isPartFull(LATE, isLate), isPartFull(UNPROVEN, isUnproven)];
  return waiting.filter(
    (endpoint) =>
      (counts.get(endpoint) ?? 0) < perEndpoint &&
      !(isLateFull && isLate(endpoint)) &&
      !(isUnprovenFull && isUnproven(endpoint)),
  );
}
