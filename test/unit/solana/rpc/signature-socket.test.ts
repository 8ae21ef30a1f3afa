import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { createSignatureSocket } from '../../../../src/solana/rpc/signature-socket.js';
import type { SignatureSocket } from '../../../../src/solana/rpc/signature-socket.js';

let server: WebSocketServer;
let asked: { method: string; params: unknown[] }[];
let clients: WebSocket[];
let socket: SignatureSocket;

beforeEach(async () => {
  asked = [];
  clients = [];
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (client) => {
    clients.push(client);
    client.on('message', (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as {
        id: number;
        method: string;
        params: unknown[];
      };
      asked.push({ method, params });
      client.send(JSON.stringify({ jsonrpc: '2.0', id, result: 100 + asked.length }));
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  socket = createSignatureSocket(
    'http://127.0.0.1:1',
    `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
});

afterEach(async () => {
  socket.close();
  await new Promise((resolve) => server.close(resolve));
});

const notificationOf = (subscription: number, err: unknown) => ({
  jsonrpc: '2.0',
  method: 'signatureNotification',
  params: { subscription, result: { context: { slot: 1 }, value: { err } } },
});

const tell = (subscription: number, err: unknown) =>
  clients[0]?.send(JSON.stringify(notificationOf(subscription, err)));

describe('createSignatureSocket', () => {
  it('ignores an error that is nested too deeply to be written', async () => {
    const listener = vi.fn();
    socket.subscribe('one', listener);
    // The node answers in order, and a notification before its answer would not count.
    const later = socket.watchAccount('two', vi.fn());
    await expect.poll(() => later.subscription()).toBeDefined();
    const [depth, text] = [20_000, JSON.stringify(notificationOf(101, 'nested'))];
    clients[0]?.send(text.replace('"nested"', '['.repeat(depth) + ']'.repeat(depth)));
    tell(101, null);
    await expect.poll(() => listener.mock.calls).toEqual([[null]]);
  });

  it('opens no socket before the first listener', () => {
    expect(clients).toHaveLength(0);
  });

  it('calls each listener once for its signature, over a single socket that closes after the last', async () => {
    const [first, twin, second] = [vi.fn(), vi.fn(), vi.fn()];
    socket.subscribe('one', first);
    socket.subscribe('one', twin);
    await expect.poll(() => asked).toHaveLength(1);
    socket.subscribe('two', second);
    await expect.poll(() => asked).toHaveLength(2);
    expect(asked).toEqual(
      ['one', 'two'].map((signature) => ({
        method: 'signatureSubscribe',
        params: [signature, { commitment: 'confirmed' }],
      })),
    );
    tell(999, null);
    tell(102, { InstructionError: [0, 'X'] });
    tell(102, null);
    await expect.poll(() => second.mock.calls).toEqual([['{"InstructionError":[0,"X"]}']]);
    expect(first).not.toHaveBeenCalled();
    tell(101, null);
    await expect.poll(() => first.mock.calls).toEqual([[null]]);
    expect(twin.mock.calls).toEqual([[null]]);
    await expect.poll(() => clients.map((client) => client.readyState)).toEqual([3]);
  });

  it('calls a listener when the node notifies in the same packet in which it answers', async () => {
    const listener = vi.fn();
    server.once('connection', (client) => {
      const connection = Reflect.get(client, '_socket') as Socket; // A field of ws.
      connection.cork();
      client.on('message', () => {
        tell(101, null);
        connection.uncork();
      });
    });
    socket.subscribe('one', listener);
    await expect.poll(() => listener.mock.calls).toEqual([[null]]);
  });

  it('unsubscribes a signature without listeners, and closes after the last', async () => {
    const leave = socket.subscribe('one', vi.fn());
    const stay = socket.subscribe('two', vi.fn());
    await expect.poll(() => asked).toHaveLength(2);
    // Both answers arrive before a listener leaves.
    await new Promise((resolve) => clients[0]?.once('pong', resolve).ping());
    leave();
    leave();
    await expect.poll(() => asked[2]).toEqual({ method: 'signatureUnsubscribe', params: [101] });
    stay();
    await expect.poll(() => clients[0]?.readyState).toBe(3);
  });

  it('calls all listeners of an account for each change, over a single subscription', async () => {
    const change = (subscription: unknown, value: unknown) =>
      clients[0]?.send(
        JSON.stringify({
          jsonrpc: '2.0',
          method: 'accountNotification',
          params: { subscription, result: { value } },
        }),
      );
    const [first, twin, other] = [vi.fn(), vi.fn(), vi.fn()];
    socket.subscribe('one', other);
    const watch = socket.watchAccount('one', first);
    const second = socket.watchAccount('one', twin);
    expect(watch.subscription()).toBeUndefined();
    await expect.poll(() => watch.subscription()).toBeDefined();
    expect(second.subscription()).toBe(watch.subscription());
    expect(asked).toEqual([
      { method: 'signatureSubscribe', params: ['one', { commitment: 'confirmed' }] },
      {
        method: 'accountSubscribe',
        params: ['one', { commitment: 'confirmed', encoding: 'base64' }],
      },
    ]);
    // Messages that are not for this subscription change nothing: another id, another kind, no id,
    // no result.
    for (const [subscription, value] of [
      [101, {}],
      [999, {}],
      ['102', {}],
      [null, 'x'],
    ] as const)
      change(subscription, value);
    clients[0]?.send(
      JSON.stringify({ jsonrpc: '2.0', method: 'accountNotification', params: null }),
    );
    tell(102, null);
    change(102, { lamports: 1 });
    change(102, 'anything');
    await expect.poll(() => first.mock.calls.length).toBe(2);
    expect(twin).toHaveBeenCalledTimes(2);
    expect(other).not.toHaveBeenCalled();
    watch.end();
    expect(watch.subscription()).toBeUndefined();
    expect(second.subscription()).toBeDefined();
    second.end();
    await expect.poll(() => asked[2]).toEqual({ method: 'accountUnsubscribe', params: [102] });
    expect(clients).toHaveLength(1);
  });

  it('has no subscription after its socket is lost', async () => {
    const watch = socket.watchAccount('one', vi.fn());
    await expect.poll(() => watch.subscription()).toBeDefined();
    clients[0]?.terminate();
    await expect.poll(() => watch.subscription()).toBeUndefined();
    watch.end();
  });

  it('opens a new socket for the next listener after a socket was lost', async () => {
    socket.subscribe('one', vi.fn());
    await expect.poll(() => asked).toHaveLength(1);
    clients[0]?.terminate();
    await expect
      .poll(() => {
        socket.subscribe('two', vi.fn())();
        socket.subscribe('two', vi.fn());
        return clients.length;
      })
      .toBeGreaterThan(1);
    await expect
      .poll(() => asked.slice(1).map((call) => call.params[0]))
      .toEqual(expect.arrayContaining(['one', 'two']));
  });

  it('stays silent without an endpoint, and with a URL that cannot be opened', () => {
    const listener = vi.fn();
    for (const other of [
      createSignatureSocket(undefined, undefined),
      createSignatureSocket('http://127.0.0.1:1', 'no url'),
    ]) {
      other.subscribe('one', listener)();
      other.subscribe('one', listener);
      other.close();
    }
    expect(listener).not.toHaveBeenCalled();
  });
});
