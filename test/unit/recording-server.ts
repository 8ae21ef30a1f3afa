import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** What a server saw of one request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  /** Names and values in the order and case of the wire. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly hash: string;
}

export interface RecordingServer {
  readonly origin: string;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/**
 * A server on the loopback that keeps what it saw; by default it answers 402 to whatever brings no
 * payment header, else 200.
 */
export async function startRecording(
  answer: (request: IncomingMessage, response: ServerResponse) => void = asksForPayment,
): Promise<RecordingServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method = '', url = '', rawHeaders } = request;
      seen.push({
        method,
        url,
        rawHeaders,
        body,
        hash: createHash('sha256').update(body).digest('hex'),
      });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function asksForPayment(request: IncomingMessage, response: ServerResponse): void {
  const paid = 'payment-signature' in request.headers || 'x-payment' in request.headers;
  response.writeHead(paid ? 200 : 402, { 'content-type': 'text/plain' });
  response.end(paid ? 'paid' : 'unpaid');
}

/** Headers of one request by lower-case name. */
export function headersOf(seen: Seen | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  const raw = seen?.rawHeaders ?? [];
  for (let at = 0; at < raw.length; at += 2)
    headers[(raw[at] ?? '').toLowerCase()] = raw[at + 1] ?? '';
  return headers;
}
