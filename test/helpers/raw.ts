import { request as send, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * Sends a request with any headers, method and body, which fetch would not send. If `unfinished` is
 * set, the body never ends.
 */
export function rawRequest(
  url: string,
  {
    body,
    unfinished = false,
    ...options
  }: RequestOptions & { readonly body?: string; readonly unfinished?: boolean } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = send(url, options, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('error', reject).on('end', () => {
        resolve({ status: incoming.statusCode, headers: incoming.headers, text });
        if (unfinished) outgoing.destroy();
      });
    });
    outgoing.on('error', reject);
    if (body !== undefined) outgoing.write(body);
    if (!unfinished) outgoing.end();
  });
}

/** Opens a connection that sends only `text`. */
export async function openSocket(url: string, text = ''): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', () => resolve());
    socket.once('error', reject);
  });
  // Tests check for a cut connection, so an error of the socket is ignored.
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  return socket;
}

/** Resolves with all text from a connection when the other side closes it. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.once('close', () => resolve(text));
  });
}
