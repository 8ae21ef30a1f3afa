import { bounded } from '../../internal/abort.js';
import { systemRuntime } from '../../internal/runtime.js';
import { Fault, worstFault } from './fault.js';
import { misshapen } from './reply.js';

/** One RPC node. */
export interface Node {
  /** Asks, and gives the result in the answer as it came. Rejects with a {@link Fault}. */
  request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>;
  /** As far as it may be shown. */
  readonly host: string | undefined;
  /** The hash of its first block, if it is known already or being asked for. */
  readonly genesis?: () => Promise<string>;
  /** Rejects with a {@link Fault} unless the node's answers count. */
  readonly admit?: () => Promise<void>;
}

/** Asks one node for one call. */
export type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface Question<T> {
  readonly signal: AbortSignal | undefined;
  /** Asks, and reads the answer. */
  readonly ask: (request: Request, node: Node) => Promise<T>;
  /** The answer itself says which network it is of. */
  readonly unchecked?: boolean;
}

const ROUNDS = 2;
const PAUSE_MS = 250;
/** A node that wants a longer pause is not waited for. */
const MAX_PAUSE_MS = 2_000;
/** To see whether a node is back must not cost a call much that another can answer. */
const PROBE_MS = 1_000;

/** How each node did when it was asked last, by whichever call. */
const standings = new WeakMap<Node, NodeHealth>();
const standingOf = (node: Node): NodeHealth => standings.get(node) ?? HEALTHY;

/**
 * To be called with what becomes of a node that is asked now. Does nothing if it has failed or
 * answered since then, for another call: calls that are under way together fail by one and the same
 * outage.
 */
function watchNode(
  node: Node,
  probe: boolean,
): (after: (before: NodeHealth) => NodeHealth) => void {
  const before = probe ? { ...standingOf(node), probing: true } : standingOf(node);
  standings.set(node, before);
  return (after) => {
    if (standings.get(node) === before) standings.set(node, after(before));
  };
}

/** The nodes in the order in which they are worth asking now. */
export function inTurn(nodes: readonly Node[]): readonly Node[] {
  const { turns, left } = takeTurns(nodes.map(standingOf), systemRuntime.now());
  return [...turns, ...left].map(({ index }) => nodes[index]).filter((node) => node !== undefined);
}

/**
 * Asks the nodes in turn until one answers, and after a short pause once more: those that have
 * failed lately after the others. Bounded by `timeoutMs` altogether, of which no node gets more
 * than its share; rejects with the signal's reason or a {@link Fault}.
 */
export async function askNodes<T>(
  nodes: readonly Node[],
  timeoutMs: number,
  closed: AbortSignal,
  { signal, ask, unchecked }: Question<T>,
): Promise<T> {
  const late = () => new Fault('timeout', 'it did not answer in time');
  const startedAt = systemRuntime.now();
  const leftAt = (now: number) => Math.max(1, startedAt + timeoutMs - now);

  /** @param from - When it begins. Milliseconds since the epoch. */
  const round = async (
    stop: AbortSignal,
    from: number,
  ): Promise<{ value: T } | readonly Fault[]> => {
    let now = from;
    const { turns, left: alone } = takeTurns(nodes.map(standingOf), now);
    const faults = alone.map(({ fault }) => fault);
    const isOver = () => stop.aborted;
    for (const [count, { index, probe }] of turns.entries()) {
      const node = nodes[index];
      if (node === undefined || isOver()) break;
      const next = turns.length - count - 1;
      const share = leftAt(now) / (next + 1);
      const note = watchNode(node, probe);
      try {
        const task = async (own: AbortSignal) => {
          // At the same time, so that a node that takes over for another is no slower.
          const [value] = await Promise.all([
            ask((asked, params) => node.request(asked, params, own), node),
            unchecked === true ? undefined : node.admit?.(),
          ]);
          return value;
        };
        const value = await bounded(
          probe && next > 0 ? Math.min(share, PROBE_MS) : share,
          late,
          [stop],
          task,
        );
        note(() => HEALTHY);
        return { value };
      } catch (error) {
        const fault = error instanceof Fault ? error : misshapen();
        // That the caller gave up says nothing of the node.
        const isGivenUp = isOver() && fault.kind !== 'timeout';
        now = systemRuntime.now();
        note((before) =>
          isGivenUp ? { ...before, probing: false } : afterFault(before, fault, now),
        );
        fault.host ??= node.host;
        faults.push(fault);
      }
    }
    return faults;
  };

  try {
    return await bounded(timeoutMs, late, [signal, closed], async (stop) => {
      let faults: readonly Fault[] = [];
      for (let rounds = 0; rounds < ROUNDS && !stop.aborted; rounds += 1) {
        let now = rounds === 0 ? startedAt : systemRuntime.now();
        const pause = rounds === 0 ? pauseBefore(nodes, now, leftAt(now)) : pauseAfter(faults);
        if (pause === undefined || pause >= leftAt(now)) break;
        if (pause > 0) {
          await systemRuntime.sleep(pause, stop);
          // Timers may be early: a call that waited as long as a node had asked for has waited long
          // enough.
          now = Math.max(now + pause, systemRuntime.now());
        }
        const answer = await round(stop, now);
        if ('value' in answer) return answer.value;
        faults = answer;
      }
      throw worstFault(faults);
    });
  } catch (error) {
    // Too late altogether: which node was slow is clear if there is one.
    if (error instanceof Fault && nodes.length === 1) error.host ??= nodes[0]?.host;
    throw error;
  }
}

/**
 * The rest of a short pause that the only node has asked for, of whichever call: if there is
 * another, that one is asked.
 */
function pauseBefore([node, ...others]: readonly Node[], now: number, leftMs: number): number {
  if (node === undefined || others.length > 0) return 0;
  const ms = askedRest(standingOf(node), now);
  return ms <= MAX_PAUSE_MS && ms < leftMs ? ms : 0;
}

/** How long to wait before asking again; undefined if that is no use. */
function pauseAfter(faults: readonly Fault[]): number | undefined {
  const pauses = faults
    .filter((fault) => fault.isTransient)
    .map((fault) => Math.max(PAUSE_MS, fault.retryAfterMs ?? 0));
  const shortest = Math.min(...pauses);
  return shortest <= MAX_PAUSE_MS ? shortest : undefined;
}

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
interface RestingNode {
  readonly index: number;
  readonly fault: Fault;
}

/**
 * Which nodes to ask in one round, in order: first the nodes that answered when last asked and
 * those that have rested, as they were given; then those that rest, ordered by when their rest
 * ends. If there is but one, it is always asked.
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
function askedRest({ asked, ...rest }: NodeHealth, now: number): number {
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
