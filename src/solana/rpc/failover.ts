import { bounded } from '../../internal/abort.js';
import { systemRuntime } from '../../internal/runtime.js';
import { Fault, worstFault } from './fault.js';
import { misshapen } from './reply.js';

export interface Node {
  /** Sends a request and returns the unread result. Rejects with a {@link Fault}. */
  request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>;
  /** The host as it may be shown. */
  readonly host: string | undefined;
  /** Returns the hash of the node's first block, if the node checks its network. */
  readonly genesis?: () => Promise<string>;
  /** Rejects with a {@link Fault} unless the node's answers count. */
  readonly checkNetwork?: () => Promise<void>;
}

export type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface Question<T> {
  readonly signal: AbortSignal | undefined;
  readonly ask: (request: Request, node: Node) => Promise<T>;
  /** Whether to skip the check of the network, because the answer itself names the network. */
  readonly unchecked?: boolean;
}

const ROUNDS = 2;
const PAUSE_MS = 250;
/** Longest pause in milliseconds; a node that asks for a longer pause is not waited for. */
const MAX_PAUSE_MS = 2_000;
/** Milliseconds for a probe: a call must not lose much time on it if another node can answer. */
const PROBE_MS = 1_000;

/** Health of each node after its last request of any call. */
const healths = new WeakMap<Node, NodeHealth>();
const healthOf = (node: Node): NodeHealth => healths.get(node) ?? HEALTHY;

/**
 * Marks the start of a request and returns a function that records its end. The function does
 * nothing if the node failed or answered for another call meanwhile. One outage makes all open
 * calls fail together, so it counts only once.
 */
function watchNode(
  node: Node,
  probe: boolean,
): (after: (before: NodeHealth) => NodeHealth) => void {
  const before = probe ? { ...healthOf(node), probing: true } : healthOf(node);
  healths.set(node, before);
  return (after) => {
    if (healths.get(node) === before) healths.set(node, after(before));
  };
}

export function inTurn(nodes: readonly Node[]): readonly Node[] {
  const { turns, left } = takeTurns(nodes.map(healthOf), systemRuntime.now());
  return [...turns, ...left].map(({ index }) => nodes[index]).filter((node) => node !== undefined);
}

/**
 * Asks the nodes in turn until one answers, and after a short pause once more. Nodes that failed
 * lately come last. All attempts together take at most `timeoutMs`, and no node gets more than its
 * share. Rejects with the signal's reason or a {@link Fault}.
 */
export async function askNodes<T>(
  nodes: readonly Node[],
  timeoutMs: number,
  closed: AbortSignal,
  { signal, ask, unchecked }: Question<T>,
): Promise<T> {
  const timeoutFault = () => new Fault('timeout', 'it did not answer in time');
  const startedAt = systemRuntime.now();
  const leftAt = (now: number) => Math.max(1, startedAt + timeoutMs - now);

  /** @param from - Start of the round in milliseconds since the epoch. */
  const round = async (
    stop: AbortSignal,
    from: number,
  ): Promise<{ value: T } | readonly Fault[]> => {
    let now = from;
    const { turns, left: skipped } = takeTurns(nodes.map(healthOf), now);
    const faults = skipped.map(({ fault }) => fault);
    const isOver = () => stop.aborted;
    for (const [count, { index, probe }] of turns.entries()) {
      const node = nodes[index];
      if (node === undefined || isOver()) break;
      const next = turns.length - count - 1;
      const share = leftAt(now) / (next + 1);
      const note = watchNode(node, probe);
      try {
        const task = async (taskSignal: AbortSignal) => {
          // Check the network at the same time, so that a node that takes over is no slower.
          const [value] = await Promise.all([
            ask((method, params) => node.request(method, params, taskSignal), node),
            unchecked === true ? undefined : node.checkNetwork?.(),
          ]);
          return value;
        };
        const value = await bounded(
          probe && next > 0 ? Math.min(share, PROBE_MS) : share,
          timeoutFault,
          [stop],
          task,
        );
        note(() => HEALTHY);
        return { value };
      } catch (error) {
        const fault = error instanceof Fault ? error : misshapen();
        // An abort by the caller says nothing about the node's health.
        const isAborted = isOver() && fault.kind !== 'timeout';
        now = systemRuntime.now();
        note((before) =>
          isAborted ? { ...before, probing: false } : afterFault(before, fault, now),
        );
        fault.host ??= node.host;
        faults.push(fault);
      }
    }
    return faults;
  };

  try {
    return await bounded(timeoutMs, timeoutFault, [signal, closed], async (stop) => {
      let faults: readonly Fault[] = [];
      for (let rounds = 0; rounds < ROUNDS && !stop.aborted; rounds += 1) {
        let now = rounds === 0 ? startedAt : systemRuntime.now();
        const pause = rounds === 0 ? pauseBefore(nodes, now, leftAt(now)) : pauseAfter(faults);
        if (pause === undefined || pause >= leftAt(now)) break;
        if (pause > 0) {
          await systemRuntime.sleep(pause, stop);
          // A timer may fire early. A call that slept for the requested pause has waited long
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
    // After a timeout of the whole call, the slow node is known only if there is just one node.
    if (error instanceof Fault && nodes.length === 1) error.host ??= nodes[0]?.host;
    throw error;
  }
}

/**
 * Returns the remaining milliseconds of a short pause that the only node asked for, of any call. If
 * there are more nodes, there is no pause, because another node can answer.
 */
function pauseBefore([node, ...others]: readonly Node[], now: number, leftMs: number): number {
  if (node === undefined || others.length > 0) return 0;
  const ms = askedRest(healthOf(node), now);
  return ms <= MAX_PAUSE_MS && ms < leftMs ? ms : 0;
}

/** Returns the milliseconds to wait before the next round; undefined if a retry cannot help. */
function pauseAfter(faults: readonly Fault[]): number | undefined {
  const pauses = faults
    .filter((fault) => fault.isTransient)
    .map((fault) => Math.max(PAUSE_MS, fault.retryAfterMs ?? 0));
  const shortest = Math.min(...pauses);
  return shortest <= MAX_PAUSE_MS ? shortest : undefined;
}

/**
 * Health of a node: whether its last request failed, and for how long the other nodes are asked
 * first.
 */
export interface NodeHealth {
  readonly failures: number;
  /** Time of the last failure in milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds from `at` for which the node rests. */
  readonly restMs: number;
  /**
   * The fault in which the node itself asked for the rest. It is not asked before the rest ends,
   * unless it is the only node.
   */
  readonly asked: Fault | undefined;
  /**
   * Whether a call is probing the node. Only one call probes, so that no other call waits for it.
   */
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
/** Longest rest that a node may ask for: it may be wrong, and the other nodes may fail. */
const LONGEST_ASKED_MS = 60_000;

/** A node to ask: its index, and whether the call probes if the node is back. */
export interface Turn {
  readonly index: number;
  readonly probe: boolean;
}

/** A node that is not asked, because it asked for a rest: its index, and the fault of that answer. */
interface RestingNode {
  readonly index: number;
  readonly fault: Fault;
}

/**
 * Returns the nodes to ask in one round, in order. Nodes that answered last and nodes at the end of
 * their rest come first, in the given order. Resting nodes follow, by the end of their rest. A
 * single node is always asked.
 */
export function takeTurns(
  healths: readonly NodeHealth[],
  now: number,
): { readonly turns: readonly Turn[]; readonly left: readonly RestingNode[] } {
  if (healths.length === 1) return { turns: [{ index: 0, probe: false }], left: [] };
  const candidates = healths.map(({ failures, asked, probing, ...rest }, index) => {
    const ms = restLeft(rest, now);
    return {
      index,
      ms,
      fault: ms > 0 ? asked : undefined,
      isReady: ms === 0 && !probing,
      probe: failures > 0,
    };
  });
  const ready = candidates
    .filter(({ isReady }) => isReady)
    .map(({ index, probe }) => ({ index, probe }));
  const resting = candidates
    .filter(({ isReady, fault }) => !isReady && fault === undefined)
    .sort((a, b) => a.ms - b.ms);
  return {
    turns: [...ready, ...resting.map(({ index }) => ({ index, probe: false }))],
    left: candidates.flatMap(({ index, ms, fault }) =>
      fault === undefined ? [] : [{ index, fault: fault.later(ms) }],
    ),
  };
}

/** Returns the remaining milliseconds of a rest that the node itself asked for. */
function askedRest({ asked, ...rest }: NodeHealth, now: number): number {
  return asked === undefined ? 0 : restLeft(rest, now);
}

/** Returns the remaining milliseconds of a rest. A clock that is set back ends every rest. */
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
 * Whether the node did not answer, or answered "not now". Any other fault is an answer: it is about
 * the request, or the node is set up wrongly.
 */
function isAbsence({ kind, code }: Fault): boolean {
  return (
    kind === 'timeout' || kind === 'rate_limited' || (kind === 'unavailable' && code === undefined)
  );
}
