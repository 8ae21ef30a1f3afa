import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a service received it, with its whole body. */
export interface SeenCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Writes a raw HTTP answer. */
export type Answer = (response: ServerResponse, call: SeenCall) => void;

export interface WireService {
  readonly url: string;
  readonly seen: readonly SeenCall[];
  close(): Promise<void>;
}

/** Starts a service that gives the answers in order, and then repeats the last answer. */
export async function startWireService(...answers: readonly Answer[]): Promise<WireService> {
  const seen: SeenCall[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const call = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: await textOf(request),
      };
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push(call);
      answer?.(response, call);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  // No encoding is set, so each chunk is a Buffer.
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns an answer with a raw body. */
export function says(
  status: number,
  type: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(body);
  };
}

export const saysJson = (value: unknown): Answer =>
  says(200, 'application/json', JSON.stringify(value));

/** Returns an answer with a problem document (RFC 9457). */
export function saysProblem(
  status: number,
  code: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const problem = {
    ...{
      type: `urn:exact-change:${code}`,
      title: 'It failed',
      status,
      detail: 'It failed for a reason.',
    },
    ...{ code, funds: 'untouched', retry: 'fresh', moved: [], details: {} },
    ...more,
  };
  return says(status, 'application/problem+json', JSON.stringify(problem), headers);
}

/** Closes the connection without an answer. */
export const hangsUp: Answer = (response) => void response.socket?.destroy();
