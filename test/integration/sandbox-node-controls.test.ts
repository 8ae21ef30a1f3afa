import { spawnSync } from 'node:child_process';
import { address } from '@solana/kit';
import {
  Connection,
  Keypair,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { RpcError, startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';

const anything: unknown = expect.anything();
const aNumber: unknown = expect.any(Number);

let node: SandboxNode;

beforeEach(async () => {
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
});

afterEach(() => node.close());

function post(body: unknown, url = node.url): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function call(method: string, ...params: unknown[]): Promise<unknown> {
  return (await post({ jsonrpc: '2.0', id: 1, method, params })).json();
}

function signedTransfer(
  payer: Keypair,
  blockhash: string,
  to = Keypair.generate().publicKey,
): VersionedTransaction {
  const instructions = [
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: 10_000_000 }),
  ];
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToLegacyMessage());
  transaction.sign([payer]);
  return transaction;
}

async function funded(): Promise<{
  connection: Connection;
  payer: Keypair;
  transaction: VersionedTransaction;
}> {
  const connection = new Connection(node.url, {
    commitment: 'confirmed',
    disableRetryOnRateLimit: true,
  });
  const payer = Keypair.generate();
  node.chain.fundSol(address(payer.publicKey.toBase58()), 1_000_000_000n);
  return {
    connection,
    payer,
    transaction: signedTransfer(payer, (await connection.getLatestBlockhash()).blockhash),
  };
}

describe('the JSON-RPC of a node', () => {
  test('answers batches in order, and leaves notifications unanswered', async () => {
    const batch = [
      { jsonrpc: '2.0', id: 'a', method: 'getHealth' },
      { jsonrpc: '2.0', method: 'getHealth' },
      { jsonrpc: '2.0', id: 2, method: 'getNothing' },
      7,
    ];
    expect(await (await post(batch)).json()).toEqual([
      { jsonrpc: '2.0', id: 'a', result: 'ok' },
      { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'Method not found' } },
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid request' } },
    ]);
  });

  test.each([
    ['no JSON', '{', -32700],
    ['an empty batch', [], -32600],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'getHealth' }, -32600],
    ['an invalid key', { jsonrpc: '2.0', id: 1, method: 'getBalance', params: ['0OIl'] }, -32602],
    [
      'a key of 31 bytes',
      { jsonrpc: '2.0', id: 1, method: 'getBalance', params: ['2'.repeat(31)] },
      -32602,
    ],
    ['no argument', { jsonrpc: '2.0', id: 1, method: 'getBalance', params: [] }, -32602],
    ['named arguments', { jsonrpc: '2.0', id: 1, method: 'getBalance', params: {} }, -32602],
    [
      'an unknown commitment',
      { jsonrpc: '2.0', id: 1, method: 'getSlot', params: [{ commitment: 'soon' }] },
      -32602,
    ],
    [
      'history below confirmed',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'getTransaction',
        params: ['1'.repeat(64), { commitment: 'processed' }],
      },
      -32602,
    ],
    [
      'too many accounts',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'getMultipleAccounts',
        params: [Array(101).fill('1'.repeat(32))],
      },
      -32602,
    ],
    [
      'base58 of a large account',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'getAccountInfo',
        params: ['ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'],
      },
      -32600,
    ],
  ])('refuses %s with its code', async (_, body, code) => {
    expect(await (await post(body)).json()).toMatchObject({ error: { code, message: anything } });
  });

  test('writes integers beyond the range of doubles exactly', async () => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'getAccountInfo',
      params: ['1'.repeat(32), { encoding: 'base64' }],
    };
    expect(await (await post(body)).text()).toContain('"rentEpoch":18446744073709551615,');
  });

  test('allows calls from pages of any origin', async () => {
    const preflight = await fetch(node.url, {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'content-type,x-caller' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type,x-caller');
    node.controls.fault('getHealth', { kind: 'rateLimited', times: 1 });
    expect(
      (await post({ jsonrpc: '2.0', id: 1, method: 'getHealth' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe('*');
    expect(await (await fetch(`${node.url}/health`)).text()).toBe('ok');
    expect((await fetch(node.url)).status).toBe(405);
  });
});

describe('the controls of a node', () => {
  test('count calls by method and caller', async () => {
    await post({ jsonrpc: '2.0', id: 1, method: 'getHealth' }, `${node.url}/?caller=facilitator`);
    await fetch(node.url, {
      method: 'POST',
      headers: { 'x-caller': 'client' },
      body: JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'getHealth' },
        { jsonrpc: '2.0', id: 2, method: 'getSlot' },
      ]),
    });
    expect(node.controls.callsByMethod()).toEqual({ getHealth: 2, getSlot: 1 });
    expect(node.controls.callsByMethod('client')).toEqual({ getHealth: 1, getSlot: 1 });
    expect(node.controls.calls({ method: 'getHealth', caller: 'facilitator' })).toBe(1);
    node.controls.resetCalls();
    expect(node.controls.calls()).toBe(0);
  });

  test('inject faults by method, for a number of calls, in order', async () => {
    node.controls.fault('getSlot', {
      kind: 'error',
      code: -32005,
      message: 'Node is behind by 42 slots',
      data: { numSlotsBehind: 42 },
      times: 2,
    });
    node.controls.fault('*', { kind: 'status', status: 500, times: 1 });
    const behind = {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32005, message: 'Node is behind by 42 slots', data: { numSlotsBehind: 42 } },
    };
    expect(await call('getSlot')).toEqual(behind);
    expect(await call('getSlot')).toEqual(behind);
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'getSlot' })).status).toBe(500);
    expect(await call('getSlot')).toMatchObject({ result: aNumber });

    const withdraw = node.controls.fault('getSlot', { kind: 'garbage' });
    await expect(call('getSlot')).rejects.toThrow(SyntaxError);
    withdraw();
    expect(await call('getSlot')).toMatchObject({ result: aNumber });
  });

  test('limit the rate, with and without a retry-after header', async () => {
    node.controls.fault('getSlot', { kind: 'rateLimited', retryAfter: 3, times: 1 });
    node.controls.fault('getSlot', { kind: 'rateLimited', times: 1 });
    const [first, second] = [
      await post({ jsonrpc: '2.0', id: 1, method: 'getSlot' }),
      await post({ jsonrpc: '2.0', id: 1, method: 'getSlot' }),
    ];
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '3']);
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, null]);
    expect(await second.json()).toMatchObject({ error: { code: 429 } });
  });

  test('hang until the caller aborts', async () => {
    node.controls.fault('getSlot', { kind: 'hang' });
    const aborted = new AbortController();
    const hanging = fetch(node.url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSlot' }),
      signal: aborted.signal,
    });
    await expect.poll(() => node.controls.calls({ method: 'getSlot' })).toBe(1);
    aborted.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
  });

  test('cut the connection before or after a transaction is accepted', async () => {
    const { connection, payer, transaction } = await funded();
    node.controls.fault('sendTransaction', { kind: 'dropBefore', times: 1 });
    await expect(connection.sendTransaction(transaction)).rejects.toThrow();
    expect(await connection.getSignaturesForAddress(payer.publicKey)).toEqual([]);
    node.controls.fault('sendTransaction', { kind: 'dropAfter', times: 1 });
    await expect(connection.sendTransaction(transaction)).rejects.toThrow();
    expect(await connection.getSignaturesForAddress(payer.publicKey)).toHaveLength(1);
  });

  test('accept a transaction that never lands', async () => {
    const { connection, payer, transaction } = await funded();
    node.controls.fault('sendTransaction', { kind: 'neverLands', times: 1 });
    const signature = await connection.sendTransaction(transaction);
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
    expect(await connection.getBalance(payer.publicKey)).toBe(1_000_000_000);
    // The node forgot the transaction and did not refuse it, so the same bytes may land later.
    expect(await connection.sendTransaction(transaction)).toBe(signature);
    expect((await connection.getSignatureStatus(signature)).value).toMatchObject({ err: null });
  });

  test('replace answers by an interceptor', async () => {
    node.controls.intercept = (method, params, next) => {
      if (method === 'getBalance') return { context: { slot: 1 }, value: 7 };
      if (method === 'getSlot') throw new RpcError(-32000, 'not today');
      return next(params);
    };
    expect(await call('getBalance', 'nonsense')).toMatchObject({ result: { value: 7 } });
    expect(await call('getSlot')).toMatchObject({ error: { code: -32000, message: 'not today' } });
    expect(await call('getHealth')).toMatchObject({ result: 'ok' });
  });

  test('forget old statuses, except for callers that search the history', async () => {
    const { connection, transaction } = await funded();
    const signature = await connection.sendTransaction(transaction);
    node.controls.warp(301);
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
    expect(
      (await connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value,
    ).toMatchObject({
      confirmationStatus: 'finalized',
    });
  });

  test('page through the history of an account', async () => {
    const { connection, payer } = await funded();
    const { blockhash } = await connection.getLatestBlockhash();
    const to = Keypair.generate().publicKey;
    const sent: string[] = [];
    for (const key of [to, Keypair.generate().publicKey, Keypair.generate().publicKey, to]) {
      // Two equal transfers would be the same transaction; a warp gives the second a new blockhash.
      const fresh =
        sent.length === 3
          ? (node.controls.warp(1), (await connection.getLatestBlockhash()).blockhash)
          : blockhash;
      sent.unshift(await connection.sendTransaction(signedTransfer(payer, fresh, key)));
    }
    const list = async (options: { limit?: number; before?: string; until?: string }) =>
      (await connection.getSignaturesForAddress(payer.publicKey, options)).map(
        ({ signature }) => signature,
      );
    expect(await list({})).toEqual(sent);
    expect(await list({ limit: 2 })).toEqual(sent.slice(0, 2));
    expect(await list({ before: sent[0] ?? '', until: sent[3] ?? '' })).toEqual(sent.slice(1, 3));
    expect(await connection.getSignaturesForAddress(to)).toHaveLength(2);
    expect(await connection.getSignaturesForAddress(to, {}, 'finalized')).toEqual([]);
  });
});

describe('the WebSocket of a node', () => {
  const open = (port: number) =>
    new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`);
      socket.once('open', () => resolve(socket)).once('error', reject);
    });
  const ask = (socket: WebSocket, message: unknown) =>
    new Promise<unknown>((resolve) => {
      socket.once('message', (data: Buffer) => resolve(JSON.parse(data.toString('utf8'))));
      socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    });

  test('is served on the HTTP port and on the next port', async () => {
    const port = Number(new URL(node.url).port);
    for (const socket of [await open(port), await open(port + 1)]) {
      expect(await ask(socket, { jsonrpc: '2.0', id: 1, method: 'slotSubscribe' })).toMatchObject({
        id: 1,
        result: aNumber,
      });
      expect(await ask(socket, '{')).toMatchObject({ error: { code: -32700 } });
      expect(
        await ask(socket, { jsonrpc: '2.0', id: 2, method: 'slotUnsubscribe', params: [999] }),
      ).toMatchObject({
        error: { code: -32602 },
      });
      expect(
        await ask(socket, { jsonrpc: '2.0', id: 3, method: 'signatureSubscribe', params: ['x'] }),
      ).toMatchObject({
        error: { code: -32602 },
      });
    }
  });

  test('notifies at once, and once only, of a signature that is already confirmed', async () => {
    const { connection, transaction } = await funded();
    const signature = await connection.sendTransaction(transaction);
    const socket = await open(Number(new URL(node.url).port));
    const messages: unknown[] = [];
    socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8'))));
    socket.send(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'signatureSubscribe',
        params: [signature, { commitment: 'confirmed' }],
      }),
    );
    await expect.poll(() => messages.length).toBe(2);
    expect(messages).toMatchObject([
      { id: 1 },
      { method: 'signatureNotification', params: { result: { value: { err: null } } } },
    ]);
    node.controls.warp();
    await ask(socket, { jsonrpc: '2.0', id: 9, method: 'slotSubscribe' });
    expect(messages).toHaveLength(3);
  });

  test('may be silent, or off', async () => {
    const port = Number(new URL(node.url).port);
    const socket = await open(port);
    node.controls.webSocket = 'silent';
    await ask(socket, { jsonrpc: '2.0', id: 1, method: 'slotSubscribe' });
    node.controls.warp(1);
    const next = ask(socket, { jsonrpc: '2.0', id: 2, method: 'slotSubscribe' });
    expect(await next).toMatchObject({ id: 2 });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    node.controls.webSocket = 'off';
    await closed;
    await expect(open(port)).rejects.toThrow('503');
    node.controls.webSocket = 'on';
    (await open(port + 1)).terminate();
  });
});

test('a node delays all callers but one, and closes with calls and sockets open', async () => {
  // Systems pick ports above these by themselves, so no other program gets it between the starts.
  const port = 20_000 + 2 * (process.pid % 5_000);
  const other = await startNode({ port, slotMs: 1, latencyMs: 1_000_000 });
  const health = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"getHealth"}' };
  const waiting = fetch(other.url, health);
  const socket = new WebSocket(other.wsUrl);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.once('open', resolve));
  await expect.poll(() => other.controls.calls()).toBe(1);
  other.controls.callerLatencyMs.set('near', 0);
  expect((await fetch(`${other.url}?caller=near`, health)).status).toBe(200);
  const outcome = expect(waiting).rejects.toThrow();
  await other.close();
  await Promise.all([outcome, closed]);
  const again = await startNode({ port });
  expect(again.url).toBe(other.url);
  await again.close();
});

test('a process ends by itself once its node is closed', () => {
  const module = new URL('../../adapters/sandbox/node/index.ts', import.meta.url).href;
  const script = `
    const { startNode } = await import(${JSON.stringify(module)});
    const node = await startNode();
    await fetch(node.url, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"getSlot"}' });
    node.chain.airdrop('11111111111111111111111111111112', 1_000_000n);
    await node.close();
    console.log('closed');
  `;
  const child = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    {
      encoding: 'utf8',
      timeout: 100_000,
    },
  );
  expect(child).toMatchObject({ status: 0, signal: null, stdout: 'closed\n' });
});
