import type { Fault } from './fault.js';

/**
 * What is remembered of a node: whether it failed when last asked, and for how long the others go
 * first.
 */
export interface NodeHealth {
  /** In a row. */
  readonly failures: number;
  /** When it failed last; milliseconds since the epoch. */
  readonly at: number;
  /** How long it rests from then. */
  readonly restMs: number;
  /** How it asked for that rest itself: until then it is not even the last resort. */
  readonly asked: Fault | undefined;
  /** A call tries whether it is back. One at a time, so that no other has to wait for it. */
  readonly probing: boolean;
}

export const HEALTHY: NodeHealth = {
  failures: 0,
  at: 0,
  restMs: 0,
  asked: undefined,
  probing: false,
};

const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 30_000;
/** No longer is a node left alone on its own word: it may be wrong, and the others may fail. */
const LONGEST_ASKED_MS = 60_000;

/** A node that is asked: its place in the list, and whether this decides if it is back. */
export interface Turn {
  readonly index: number;
  readonly probe: boolean;
}

/** A node that is left alone: its place, and why. */
export interface RestingNode {
  readonly index: number;
  readonly fault: Fault;
}

/**
 * Which nodes to ask in one round, in order: first the nodes that answered when last asked and
 * those whose rest is over, as they were given; then those that rest, the one whose rest ends
 * soonest first. If there is but one, it is always asked.
 */
export function takeTurns(
  standings: readonly NodeHealth[],
  now: number,
): { readonly turns: readonly Turn[]; readonly left: readonly RestingNode[] } {
  if (standings.length === 1) return { turns: [{ index: 0, probe: false }], left: [] };
  const all = standings.map(({ failures, asked, probing, ...rest }, index) => {
    const ms = restLeft(rest, now);
    return {
      index,
      ms,
      fault: ms > 0 ? asked : undefined,
      isReady: ms === 0 && !probing,
      probe: failures > 0,
    };
  });
  const ready = all.filter(({ isReady }) => isReady).map(({ index, probe }) => ({ index, probe }));
  const resting = all
    .filter(({ isReady, fault }) => !isReady && fault === undefined)
    .sort((a, b) => a.ms - b.ms);
  return {
    turns: [...ready, ...resting.map(({ index }) => ({ index, probe: false }))],
    left: all.flatMap(({ index, ms, fault }) =>
      fault === undefined ? [] : [{ index, fault: fault.later(ms) }],
    ),
  };
}

/** Milliseconds that are left of a rest that the node asked for itself. */
export function askedRest({ asked, ...rest }: NodeHealth, now: number): number {
  return asked === undefined ? 0 : restLeft(rest, now);
}

/** Milliseconds for which it rests yet. A clock that is set back ends each rest. */
function restLeft({ at, restMs }: Pick<NodeHealth, 'at' | 'restMs'>, now: number): number {
  return now < at ? 0 : Math.max(0, at + restMs - now);
}

export function afterFault({ failures }: NodeHealth, fault: Fault, now: number): NodeHealth {
  if (!isAbsence(fault)) return HEALTHY;
  const { retryAfterMs } = fault;
  const restMs =
    retryAfterMs === undefined
      ? Math.min(FIRST_REST_MS * 2 ** failures, LONGEST_REST_MS)
      : Math.min(retryAfterMs, LONGEST_ASKED_MS);
  return {
    failures: failures + 1,
    at: now,
    restMs,
    asked: retryAfterMs === undefined ? undefined : fault,
    probing: false,
  };
}

/**
 * It did not answer, or said "not now". All else is an answer, if a bad one: it is about the
 * question, or a node that is set up wrongly.
 */
function isAbsence({ kind, code }: Fault): boolean {
  return (
    kind === 'timeout' || kind === 'rate_limited' || (kind === 'unavailable' && code === undefined)
  );
}
