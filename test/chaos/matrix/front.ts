import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isPaid } from '../../helpers/seller.js';

/** A complete answer on its way back. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A request at a front. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the request carries a payment. */
  readonly isPaid: boolean;
  /** Number of earlier requests. */
  readonly before: number;
  /** Number of earlier requests that were paid, or unpaid, like this request. */
  readonly beforeAlike: number;
  /** The method of a JSON-RPC call, if it is one. */
  readonly call: string | undefined;
  /** Passes the request on, and returns the answer of the server behind the front. */
  pass(): Promise<Answer>;
}

/** The fate of a request: an answer, a `cut` connection, or no answer (`hang`). */
export type Fate = Answer | 'cut' | 'hang';

/** A server on the loopback that stands before another server. */
export interface Front {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
  close(): Promise<void>;
}

/** Hop-by-hop headers, which belong to a single connection. */
const HOP = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-encoding',
];

export async function startFront(
  target: string,
  decide: (exchange: Exchange) => Promise<Fate> | Fate,
): Promise<Front> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const paid = isPaid(request);
      const exchange: Exchange = {
        method: request.method ?? '',
        path: request.url ?? '/',
        headers: request.headers,
        body,
        isPaid: paid,
        before: exchanges.length,
        beforeAlike: exchanges.filter((earlier) => earlier.isPaid === paid).length,
        call: callOf(body),
        pass: () => forward(target, exchange),
      };
      exchanges.push(exchange);
      Promise.resolve(decide(exchange)).then(
        (fate) => {
          if (fate === 'hang') return;
          if (fate === 'cut') return void request.socket.destroy();
          response.writeHead(fate.status, fate.headers);
          response.end(fate.body);
        },
        () => request.socket.destroy(),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The server is bound to TCP, so its address is not a pipe name or null.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answer(
  status: number,
  body: string = '',
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers, body: Buffer.from(body) };
}

function callOf(body: Buffer): string | undefined {
  try {
    const { method } = JSON.parse(body.toString()) as { method?: unknown };
    return typeof method === 'string' ? method : undefined;
  } catch {
    return undefined;
  }
}

async function forward(target: string, { method, path, headers, body }: Exchange): Promise<Answer> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    HOP.includes(name) || value === undefined ? [] : [[name, String(value)] as const],
  );
  const init = method === 'GET' || method === 'HEAD' ? {} : { body: new Uint8Array(body) };
  const response = await fetch(new URL(path, target), {
    method,
    headers: Object.fromEntries(kept),
    redirect: 'manual',
    ...init,
  });
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !HOP.includes(name))),
    body: Buffer.from(await response.arrayBuffer()),
  };
}
