import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a fetch handler over a real socket; it only translates requests and answers. */
export async function served(handler: (request: Request) => Promise<Response>): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const response = await handler(requestOf(incoming, url));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(Buffer.from(await response.arrayBuffer()));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function requestOf(incoming: IncomingMessage, base: string): Request {
  const { method = 'GET', url = '/', rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const init: RequestInit & { duplex: 'half' } = {
    method,
    headers,
    duplex: 'half',
    // Node has its own type for the same stream.
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array> } : {}),
  };
  return new Request(new URL(url, base), init);
}
