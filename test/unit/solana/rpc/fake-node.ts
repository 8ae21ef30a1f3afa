import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

type Answer =
  | { result: unknown }
  | { error: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/**
 * A JSON-RPC server on the loopback, until the test ends. It gives the answers of the test, and
 * records the calls that it gets.
 */
export async function startNode(answer: (call: Call, count: number) => Answer) {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as Call & { id: string };
      calls.push({ method, params });
      const reply = answer({ method, params }, calls.length);
      if (typeof reply === 'function') return reply(request, response);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}`, calls, close };
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(code, headers).end('no');
export const body =
  (text: string): Answer =>
  (_, response) =>
    void response.end(text);
export const hang: Answer = () => undefined;
export const cut: Answer = (request) => void request.socket.destroy();
