import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a service saw it, to the last byte of its body. */
export interface SeenCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Writes an answer as it likes: this service speaks the wire itself. */
export type Answer = (response: ServerResponse, call: SeenCall) => void;

export interface WireService {
  readonly url: string;
  readonly seen: readonly SeenCall[];
  close(): Promise<void>;
}

/** Answers each request in turn; the last answer again and again. */
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
  // No encoding is set, so that each is a Buffer.
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** An answer with a body as it is. */
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

/** A problem as the wire has it. */
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

/** Cuts the connection without an answer. */
export const hangsUp: Answer = (response) => void response.socket?.destroy();
