/**
 * Endpoints that take longer share half of their caller's places, however many they are: one that
 * answers in time waits for none of them.
 */
export const LATE_MS = 2_000;
/**
 * Of a caller's places, those that its endpoints may have together of which nothing is known yet,
 * and those that are late.
 */
const UNPROVEN = 3 / 4;
const LATE = 1 / 2;

/** What one caller's endpoints have at the moment. */
interface EndpointsOfCaller {
  /** The endpoint of each delivery under way. */
  readonly running: readonly string[];
  /** Endpoints that something waits for. */
  readonly waiting: readonly string[];
  /** Milliseconds that an endpoint takes; undefined if nothing is known. */
  readonly paceOf: (endpoint: string) => number | undefined;
  readonly concurrency: number;
  readonly perEndpoint: number;
}

/** Those of the waiting endpoints to which a delivery may begin. */
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
  const haveAll = (part: number, is: (endpoint: string) => boolean) =>
    [...counts].reduce((sum, [endpoint, count]) => sum + (is(endpoint) ? count : 0), 0) >=
    Math.max(1, Math.floor(concurrency * part));
  const [noneForLate, noneForUnproven] = [haveAll(LATE, isLate), haveAll(UNPROVEN, isUnproven)];
  return waiting.filter(
    (endpoint) =>
      (counts.get(endpoint) ?? 0) < perEndpoint &&
      !(noneForLate && isLate(endpoint)) &&
      !(noneForUnproven && isUnproven(endpoint)),
  );
}
