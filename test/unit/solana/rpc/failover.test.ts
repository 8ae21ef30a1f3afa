import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { TransportError } from '../../../../src/errors.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { addressOf } from '../../../../src/solana/address.js';
import { connectRpc } from '../../../../src/solana/rpc/connection.js';
import { cut, hang, startNode, status } from './fake-node.js';

const hash = addressOf(new Uint8Array(32).fill(9));
const limited = (seconds: number) =>
  new Response('no', { status: 429, headers: { 'retry-after': String(seconds) } });

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/**
 * Two nodes behind a connection, and the clock of their rests. The test sets the answers of the
 * nodes. Limits pass only while `hung` waits, and pauses between rounds take no time: a busy machine
 * takes longer for a request than the shortest of them.
 */
async function twoNodes() {
  const reply = { first: hang, second: { result: hash } as typeof hang };
  const first = await startNode(() => reply.first);
  const second = await startNode(() => reply.second);
  const rpc = connectRpc({ urls: [first.url, second.url], timeoutMs: 4_000 });
  onTestFinished(() => rpc.close());
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  vi.spyOn(systemRuntime, 'sleep').mockResolvedValue();
  /** Makes calls, and counts the requests to each node. */
  const requests = async (times = 1) => {
    const [before, after] = [first.calls.length, second.calls.length];
    await Promise.all(
      Array.from({ length: times }, () =>
        rpc.genesisHash().catch((error: unknown) => expect(error).toBeInstanceOf(TransportError)),
      ),
    );
    return { first: first.calls.length - before, second: second.calls.length - after };
  };
  /** Makes calls, and ends the request of the first node after its limit. */
  const hung = async (limitMs: number, times?: number) => {
    const before = first.calls.length;
    const counted = requests(times);
    await expect.poll(() => first.calls.length).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(limitMs);
    return counted;
  };
  const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
  return { rpc, reply, requests, hung, pass, first, second };
}

it('waits once for a node that hangs, not in each call, until its rest is over', async () => {
  const { requests, hung, pass, reply } = await twoNodes();
  expect(await hung(2_000)).toEqual({ first: 1, second: 1 });
  expect(await requests(10)).toEqual({ first: 0, second: 10 });
  pass(5_000);
  // A single call tries whether the node is back.
  expect(await hung(1_000, 10)).toEqual({ first: 1, second: 10 });
  pass(5_000);
  expect(await requests()).toEqual({ first: 0, second: 1 });
  pass(5_000);
  reply.first = { result: hash };
  expect(await requests()).toEqual({ first: 1, second: 0 });
  expect(await requests(10)).toEqual({ first: 10, second: 0 });
});

it('counts calls that fail together as a single failure', async () => {
  const { requests, pass, reply } = await twoNodes();
  reply.first = cut;
  expect(await requests(10)).toEqual({ first: 10, second: 10 });
  reply.first = { result: hash };
  pass(5_000);
  expect(await requests()).toEqual({ first: 1, second: 0 });
});

it('asks a resting node as the last resort', async () => {
  const { requests, reply } = await twoNodes();
  reply.first = cut;
  await requests();
  reply.first = { result: hash };
  reply.second = cut;
  expect(await requests()).toEqual({ first: 1, second: 1 });
  // The first node has answered, so it is first again.
  expect(await requests()).toEqual({ first: 1, second: 0 });
});

it('leaves a node alone during its pause, and reports the rest of the pause if no other node answers', async () => {
  const { rpc, requests, pass, reply } = await twoNodes();
  reply.first = status(429, { 'retry-after': '9' });
  expect(await requests()).toEqual({ first: 1, second: 1 });
  pass(4_000);
  reply.second = { error: { code: -32603, message: 'internal' } };
  expect((await requests()).first).toBe(0);
  // The error comes after the second round, a quarter of a second later.
  await expect(rpc.genesisHash()).rejects.toMatchObject({
    code: 'rate_limited',
    details: { retryAfterMs: 4_750 },
  });
  pass(5_000);
  reply.first = { result: hash };
  expect(await requests()).toEqual({ first: 1, second: 0 });
});

it('leaves the only node alone during a short pause, and asks it at once during a long pause', async () => {
  vi.useFakeTimers();
  const answers = [limited(2), limited(7)];
  let requests = 0;
  const fetch: typeof globalThis.fetch = (_, init) => {
    requests += 1;
    const { id } = JSON.parse(String(init?.body)) as { id: string };
    return Promise.resolve(answers.shift() ?? Response.json({ jsonrpc: '2.0', id, result: hash }));
  };
  const rpc = connectRpc({ urls: ['http://node.test'], timeoutMs: 1_500, fetch });
  onTestFinished(() => rpc.close());
  const failed = { code: 'rate_limited', details: { retryAfterMs: 2_000 } };
  await expect(rpc.genesisHash()).rejects.toMatchObject(failed);
  await vi.advanceTimersByTimeAsync(1_000);
  const waiting = [rpc.genesisHash(), rpc.genesisHash()];
  const outcomes = Promise.allSettled(waiting);
  await vi.advanceTimersByTimeAsync(999);
  expect(requests).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await outcomes).toMatchObject([
    { reason: { code: 'rate_limited', details: { retryAfterMs: 7_000 } } },
    { value: hash },
  ]);
  expect(requests).toBe(3);
  expect(await rpc.genesisHash()).toBe(hash);
});

it('asks nodes again after a short pause that all of them asked for', async () => {
  const first = await startNode((_, count) =>
    count === 1 ? status(429, { 'retry-after': '1' }) : { result: hash },
  );
  const second = await startNode(() => status(429, { 'retry-after': '1' }));
  const rpc = connectRpc({ urls: [first.url, second.url], timeoutMs: 60_000 });
  onTestFinished(() => rpc.close());
  expect(await rpc.genesisHash()).toBe(hash);
  expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
});

it('counts no failure of a node when a caller aborts', async () => {
  const { rpc, requests, reply, first } = await twoNodes();
  const controller = new AbortController();
  const call = rpc.genesisHash({ signal: controller.signal }).catch((error: unknown) => error);
  await expect.poll(() => first.calls.length).toBe(1);
  controller.abort('had enough');
  expect(await call).toBe('had enough');
  reply.first = { result: hash };
  expect(await requests()).toEqual({ first: 1, second: 0 });
});

it('leaves a probe to the next call when its caller aborts', async () => {
  const { rpc, requests, pass, reply, first } = await twoNodes();
  reply.first = cut;
  await requests();
  pass(5_000);
  reply.first = hang;
  const controller = new AbortController();
  const call = rpc.genesisHash({ signal: controller.signal }).catch((error: unknown) => error);
  await expect.poll(() => first.calls.length).toBe(2);
  controller.abort('had enough');
  expect(await call).toBe('had enough');
  reply.first = { result: hash };
  expect(await requests()).toEqual({ first: 1, second: 0 });
});

it('returns the single nodes in the order in which they are worth asking', async () => {
  const { rpc, requests, reply, first, second } = await twoNodes();
  reply.first = cut;
  await requests();
  const [best, last] = rpc.perNode();
  const before = [first.calls.length, second.calls.length];
  await best?.genesisHash();
  expect([first.calls.length, second.calls.length]).toEqual([before[0], (before[1] ?? 0) + 1]);
  reply.first = { result: hash };
  expect(await last?.genesisHash()).toBe(hash);
  // The answer of a single node counts too.
  expect(await requests()).toEqual({ first: 1, second: 0 });
});
