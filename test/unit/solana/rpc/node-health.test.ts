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
/** After so many failures in a row, the last of them now. */
const failed = (times: number, fault = silence): NodeHealth =>
  Array.from({ length: times }).reduce<NodeHealth>(
    (standing) => afterFault(standing, fault, NOW),
    HEALTHY,
  );

const order = (standings: readonly NodeHealth[], now = NOW) =>
  takeTurns(standings, now).turns.map(({ index }) => index);
const probed = (standings: readonly NodeHealth[], now = NOW) =>
  takeTurns(standings, now).turns.flatMap(({ index, probe }) => (probe ? [index] : []));

describe('a node that failed', () => {
  it.each([
    ['was silent', silence],
    ['was not there', new Fault('unavailable', 'the connection failed')],
    ['was asked too often', limit()],
    ['said so in JSON-RPC', jsonRpcFault(-32429, undefined)],
  ])('rests and goes last if it %s', (_, fault) => {
    expect(order([afterFault(HEALTHY, fault, NOW), HEALTHY, HEALTHY])).toEqual([1, 2, 0]);
  });

  it.each([
    ['refused the question', jsonRpcFault(-32602, 'bad')],
    ['is behind', jsonRpcFault(-32016, 'Minimum context slot has not been reached')],
    ['gave what is no answer', new Fault('invalid', 'it is not a JSON object')],
    ['serves another network', new Fault('foreign', 'it serves another network')],
  ])('keeps its place if it %s: it was there to say so', (_, fault) => {
    expect(order([afterFault(failed(3), fault, NOW), HEALTHY])).toEqual([0, 1]);
  });

  it('rests longer each time, up to half a minute, and any answer ends it', () => {
    expect([1, 2, 3, 4, 20].map((times) => failed(times).restMs)).toEqual([
      5_000, 10_000, 20_000, 30_000, 30_000,
    ]);
    expect(afterFault(failed(20), jsonRpcFault(-32602, 'bad'), NOW)).toEqual(HEALTHY);
  });

  it('is first again when its rest is over, as a probe, one call at a time', () => {
    const [rested] = [failed(1)];
    expect(order([rested, HEALTHY], NOW + 4_999)).toEqual([1, 0]);
    expect(order([rested, HEALTHY], NOW + 5_000)).toEqual([0, 1]);
    expect(probed([rested, HEALTHY], NOW + 5_000)).toEqual([0]);
    expect(order([{ ...rested, probing: true }, HEALTHY], NOW + 5_000)).toEqual([1, 0]);
    expect(probed([{ ...rested, probing: true }, HEALTHY], NOW + 5_000)).toEqual([]);
  });

  it('is asked before one that rests longer', () => {
    expect(order([failed(3), failed(1), HEALTHY, failed(2), failed(1)])).toEqual([2, 1, 4, 3, 0]);
  });

  it('does not rest when the clock was set back', () => {
    expect(order([failed(1), HEALTHY], NOW - 1)).toEqual([0, 1]);
  });
});

describe('a node that asks to be left alone', () => {
  it('is not asked for that long, a minute at most, and says why', () => {
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

  it('leaves no node to ask when all do', () => {
    const asked = afterFault(HEALTHY, limit(7_000), NOW);
    expect(takeTurns([asked, asked], NOW).turns).toEqual([]);
  });
});

it.each([
  HEALTHY,
  failed(5),
  afterFault(HEALTHY, limit(9_000), NOW),
  { ...failed(1), probing: true },
])('the only node is always asked, with all the time there is', (standing) => {
  expect(takeTurns([standing], NOW)).toEqual({ turns: [{ index: 0, probe: false }], left: [] });
});
