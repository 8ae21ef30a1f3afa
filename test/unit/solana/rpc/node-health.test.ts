import { describe, expect, it } from 'vitest';
import { Fault, jsonRpcFault } from '../../../../src/solana/rpc/fault.js';
import {
  afterFault,
  HEALTHY,
  takeTurns,
  type NodeHealth,
} from '../../../../src/solana/rpc/failover.js';

const NOW = 1_000_000;
const silence = new Fault('timeout', 'it did not answer in time');
const limit = (retryAfterMs?: number) =>
  new Fault('rate_limited', 'it answered with status 429', { retryAfterMs });
/** The health after this many failures in a row, the last failure at `NOW`. */
const failed = (times: number, fault = silence): NodeHealth =>
  Array.from({ length: times }).reduce<NodeHealth>(
    (health) => afterFault(health, fault, NOW),
    HEALTHY,
  );

const order = (nodes: readonly NodeHealth[], now = NOW) =>
  takeTurns(nodes, now).turns.map(({ index }) => index);
const probed = (nodes: readonly NodeHealth[], now = NOW) =>
  takeTurns(nodes, now).turns.flatMap(({ index, probe }) => (probe ? [index] : []));

describe('a node that failed', () => {
  it.each([
    ['did not answer in time', silence],
    ['was unreachable', new Fault('unavailable', 'the connection failed')],
    ['reported a rate limit', limit()],
    ['reported a rate limit in JSON-RPC', jsonRpcFault(-32429, undefined)],
  ])('rests and goes last if it %s', (_, fault) => {
    expect(order([afterFault(HEALTHY, fault, NOW), HEALTHY, HEALTHY])).toEqual([1, 2, 0]);
  });

  it.each([
    ['refused the request', jsonRpcFault(-32602, 'bad')],
    ['is behind', jsonRpcFault(-32016, 'Minimum context slot has not been reached')],
    ['gave an invalid answer', new Fault('invalid', 'it is not a JSON object')],
    ['serves another network', new Fault('foreign', 'it serves another network')],
  ])('keeps its place if it %s, because it was reachable', (_, fault) => {
    expect(order([afterFault(failed(3), fault, NOW), HEALTHY])).toEqual([0, 1]);
  });

  it('rests longer after each failure, up to half a minute, until any answer', () => {
    expect([1, 2, 3, 4, 20].map((times) => failed(times).restMs)).toEqual([
      5_000, 10_000, 20_000, 30_000, 30_000,
    ]);
    expect(afterFault(failed(20), jsonRpcFault(-32602, 'bad'), NOW)).toEqual(HEALTHY);
  });

  it('is first again when its rest is over, as a probe for a single call', () => {
    const [rested] = [failed(1)];
    expect(order([rested, HEALTHY], NOW + 4_999)).toEqual([1, 0]);
    expect(order([rested, HEALTHY], NOW + 5_000)).toEqual([0, 1]);
    expect(probed([rested, HEALTHY], NOW + 5_000)).toEqual([0]);
    expect(order([{ ...rested, probing: true }, HEALTHY], NOW + 5_000)).toEqual([1, 0]);
    expect(probed([{ ...rested, probing: true }, HEALTHY], NOW + 5_000)).toEqual([]);
  });

  it('is asked before a node that rests longer', () => {
    expect(order([failed(3), failed(1), HEALTHY, failed(2), failed(1)])).toEqual([2, 1, 4, 3, 0]);
  });

  it('does not rest when the clock was set back', () => {
    expect(order([failed(1), HEALTHY], NOW - 1)).toEqual([0, 1]);
  });
});

describe('a node that asks for a pause', () => {
  it('is not asked during its pause, for a minute at most, and reports the reason', () => {
    const asked = afterFault(HEALTHY, limit(7_000), NOW);
    expect(takeTurns([asked, HEALTHY], NOW + 1_000)).toMatchObject({
      turns: [{ index: 1 }],
      left: [{ index: 0, fault: { kind: 'rate_limited', retryAfterMs: 6_000 } }],
    });
    expect(order([asked, HEALTHY], NOW + 7_000)).toEqual([0, 1]);
    const greedy = afterFault(HEALTHY, limit(3_600_000), NOW);
    expect(order([greedy, HEALTHY], NOW + 59_999)).toEqual([1]);
    expect(order([greedy, HEALTHY], NOW + 60_000)).toEqual([0, 1]);
  });

  it('leaves no node to ask when all nodes ask for a pause', () => {
    const asked = afterFault(HEALTHY, limit(7_000), NOW);
    expect(takeTurns([asked, asked], NOW).turns).toEqual([]);
  });
});

it.each([
  HEALTHY,
  failed(5),
  afterFault(HEALTHY, limit(9_000), NOW),
  { ...failed(1), probing: true },
])('always asks the only node, with the full time', (health) => {
  expect(takeTurns([health], NOW)).toEqual({ turns: [{ index: 0, probe: false }], left: [] });
});
