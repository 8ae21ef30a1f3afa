import { describe, expect, it } from 'vitest';
import { Fault, jsonRpcFault } from '../../../../src/solana/rpc/fault.js';
import { afterFault, GOOD, takeTurns, type Standing } from '../../../../src/solana/rpc/node-health.js';

const NOW = 1_000_000;
const silence = new Fault('timeout', 'it did not answer in time');
const limit = (retryAfterMs?: number) => new Fault('rate_limited', 'it answered with status 429', { retryAfterMs });
/** After so many failures in a row, the last of them now. */
const failed = (times: number, fault = silence): Standing =>
  Array.from({ length: times }).reduce<Standing>((standing) => afterFault(standing, fault, NOW), GOOD);

const order = (standings: readonly Standing[], now = NOW) => takeTurns(standings, now).turns.map(({ index }) => index);
const probed = (standings: readonly Standing[], now = NOW) =>
  takeTurns(standings, now).turns.flatMap(({ index, probe }) => (probe ? [index] : []));

describe('a node that failed', () => {
  it.each([
    ['was silent', silence],
    ['was not there', new Fault('unavailable', 'the connection failed')],
    ['was asked too often', limit()],
    ['said so in JSON-RPC', jsonRpcFault(-32429, undefined)],
  ])('rests and goes last where it %s', (_, fault) => {
    expect(order([afterFault(GOOD, fault, NOW), GOOD, GOOD])).toEqual([1, 2, 0]);
  });

  it.each([
    ['refused the question', jsonRpcFault(-32602, 'bad')],
    ['is behind', jsonRpcFault(-32016, 'Minimum context slot has not been reached')],
    ['gave what is no answer', new Fault('invalid', 'it is not a JSON object')],
    ['serves another network', new Fault('foreign', 'it serves another network')],
  ])('keeps its place where it %s: it was there to say so', (_, fault) => {
    expect(order([afterFault(failed(3), fault, NOW), GOOD])).toEqual([0, 1]);
  });

  it('rests longer each time, up to half a minute, and any answer ends it', () => {
    expect([1, 2, 3, 4, 20].map((times) => failed(times).restMs)).toEqual([5_000, 10_000, 20_000, 30_000, 30_000]);
    expect(afterFault(failed(20), jsonRpcFault(-32602, 'bad'), NOW)).toEqual(GOOD);
  });

  it('is first again when its rest is over, as a probe, one call at a time', () => {
    const [rested] = [failed(1)];
    expect(order([rested, GOOD], NOW + 4_999)).toEqual([1, 0]);
    expect(order([rested, GOOD], NOW + 5_000)).toEqual([0, 1]);
    expect(probed([rested, GOOD], NOW + 5_000)).toEqual([0]);
    expect(order([{ ...rested, probing: true }, GOOD], NOW + 5_000)).toEqual([1, 0]);
    expect(probed([{ ...rested, probing: true }, GOOD], NOW + 5_000)).toEqual([]);
  });

  it('is asked before one that rests longer', () => {
    expect(order([failed(3), failed(1), GOOD, failed(2), failed(1)])).toEqual([2, 1, 4, 3, 0]);
  });

  it('does not rest when the clock was set back', () => {
    expect(order([failed(1), GOOD], NOW - 1)).toEqual([0, 1]);
  });
});

describe('a node that asks to be left alone', () => {
  it('is not asked for that long, a minute at most, and says why', () => {
    const asked = afterFault(GOOD, limit(7_000), NOW);
    expect(takeTurns([asked, GOOD], NOW + 1_000)).toMatchObject({
      turns: [{ index: 1 }],
      left: [{ index: 0, fault: { kind: 'rate_limited', retryAfterMs: 6_000 } }],
    });
    expect(order([asked, GOOD], NOW + 7_000)).toEqual([0, 1]);
    const greedy = afterFault(GOOD, limit(3_600_000), NOW);
    expect(order([greedy, GOOD], NOW + 59_999)).toEqual([1]);
    expect(order([greedy, GOOD], NOW + 60_000)).toEqual([0, 1]);
  });

  it('leaves no node to ask when all do', () => {
    const asked = afterFault(GOOD, limit(7_000), NOW);
    expect(takeTurns([asked, asked], NOW).turns).toEqual([]);
  });
});

it.each([GOOD, failed(5), afterFault(GOOD, limit(9_000), NOW), { ...failed(1), probing: true }])(
  'the only node is always asked, with all the time there is',
  (standing) => {
    expect(takeTurns([standing], NOW)).toEqual({ turns: [{ index: 0, probe: false }], left: [] });
  },
);
