// Runs the RPC connection against everything that makes web3.js print, wait or crash. The parent
// test looks at what comes out of this process, and that it ends by itself.
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { systemRuntime } from '../../src/internal/runtime.js';
import { addressOf } from '../../src/solana/address.js';
import { landTransaction } from '../../src/solana/transactions/confirm.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import { transferLamports } from '../../src/solana/transactions/swap-instructions.js';
import { compileMessage } from '../../src/solana/transactions/compile.js';
import { assembleTransaction } from '../../src/solana/transactions/transaction.js';
import { lookBackAt } from '../helpers/look-back.js';

const wallet = addressOf(new Uint8Array(32).fill(1));
const message = compileMessage({
  feePayer: wallet,
  instructions: [transferLamports({ from: wallet, to: wallet, lamports: 1n })],
  blockhash: wallet,
});
const bytes = assembleTransaction(message, new Map([[wallet, new Uint8Array(64).fill(3)]]));

const listen = (server: Server | TcpServer) =>
  new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );

/** Answers every call with this status and, at 200, a JSON-RPC error. */
function httpNode(status: number): Server {
  return createServer((_, response) => {
    response
      .writeHead(status)
      .end(JSON.stringify({ jsonrpc: '2.0', id: '1', error: { code: -32000, message: 'no' } }));
  });
}

/** Asks and listens for a while, all in vain. */
async function use(urls: readonly string[], wsUrl?: string): Promise<void> {
  const rpc = connectRpc({ urls, timeoutMs: 400, ...(wsUrl === undefined ? {} : { wsUrl }) });
  const calls = [
    rpc.genesisHash(),
    rpc.rent(165),
    rpc.accounts([wallet]),
    rpc.send(bytes),
    rpc.simulate(bytes, [wallet]),
    rpc.statuses(['x']),
    rpc.transaction('x'),
  ];
  const outcomes = await Promise.allSettled(calls);
  if (outcomes.some((one) => one.status === 'fulfilled')) throw new Error('answered');
  const controller = new AbortController();
  const landing = landTransaction({
    rpc,
    runtime: systemRuntime,
    bytes,
    lastValidBlockHeight: 1n,
    resendMs: 100,
    lookBack: lookBackAt(rpc, bytes),
    signal: controller.signal,
  });
  await systemRuntime.sleep(700);
  controller.abort();
  if ((await landing).outcome !== 'unknown') throw new Error('landed');
  // Left open on purpose: only close() ends it.
  rpc.onSignature('another', () => undefined);
  await systemRuntime.sleep(50);
  rpc.close();
}

const limited = httpNode(429);
const failing = httpNode(200);
const limitedUrl = `http://127.0.0.1:${await listen(limited)}`;
const failingPort = await listen(failing);
// No program listens there, and fetch does not block it. A test could not keep a free port free.
const goneUrl = 'http://127.0.0.1:2';

/** Takes connections and says nothing, not even to a WebSocket handshake. */
const sockets = new Set<Socket>();
const mute = createTcpServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined).resume();
});
const mutePort = await listen(mute);

/**
 * A WebSocket that refuses subscriptions, says odd things, and does not answer when it is asked to
 * close.
 */
const odd = createServer();
const oddPort = await listen(odd);
new WebSocketServer({ server: odd }).on('connection', (client) => {
  for (const text of [
    'null',
    '5',
    '[]',
    'garbage',
    '{"id":"constructor"}',
    '{"id":"__proto__","result":1}',
    '{"method":"error"}',
    '{"method":"signatureNotification"}',
    '{"method":"signatureNotification","params":{"result":null}}',
    '{"notification":"open","params":null}',
  ]) {
    client.send(text);
  }
  client.on('message', (data: Buffer) => {
    const { id } = JSON.parse(data.toString()) as { id: number };
    client.send(
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }),
    );
  });
});
odd.on('upgrade', (_, socket: Socket) => socket.on('data', () => undefined));

await use([goneUrl]);
await use([goneUrl, limitedUrl]);
await use([limitedUrl]);
await use([`http://127.0.0.1:${failingPort}`], `ws://127.0.0.1:${failingPort}`);
await use([`http://127.0.0.1:${failingPort}`], `ws://127.0.0.1:${mutePort}`);
await use([`http://127.0.0.1:${failingPort}`], `ws://127.0.0.1:${oddPort}`);

for (const server of [limited, failing, odd]) {
  server.close();
  server.closeAllConnections();
}
mute.close();
for (const socket of sockets) socket.destroy();
process.stdout.write('done');
