import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from 'exact-change/webhooks';

/** A way in which a receiver fails. */
type Failure = (response: ServerResponse) => void;

const FAILURES: readonly Failure[] = [
  (response) => response.writeHead(500).end(),
  (response) => response.writeHead(503, { 'retry-after': '1' }).end('{"later":true}'),
  (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  // The message arrives, but the sender gets no answer.
  (response) => response.destroy(),
];

/** A receiver that fails at 30 % of its messages, and records the messages that it accepts. */
export interface Receiver {
  readonly url: string;
  /** Accepted events by message id: type with attempt, and the number of acceptances. */
  readonly accepted: ReadonlyMap<string, { readonly says: string; times: number }>;
  /** Messages that its secret does not verify, or that reuse an id with other content. */
  readonly forged: readonly unknown[];
  readonly failures: number;
  close(): Promise<void>;
}

export interface ReceiverParts {
  readonly name: string;
  readonly secret: Promise<string>;
  /** Most failures in a row for a message. */
  readonly inARow: number;
  readonly now: () => number;
  /** How many times as fast as real time `now` runs. */
  readonly speed: number;
  readonly onAccepted: () => void;
}

export async function startReceiver({
  name,
  secret,
  inARow,
  now,
  speed,
  onAccepted,
}: ReceiverParts): Promise<Receiver> {
  const accepted = new Map<string, { readonly says: string; times: number }>();
  const forged: unknown[] = [];
  const seen = new Map<string, number>();
  let failures = 0;

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const event = verifyWebhook({
      secret: await secret,
      headers: request.headers,
      body,
      now: now(),
      // A message may be on its way for the usual time, in real time.
      toleranceSeconds: 300 * speed,
    });
    const says = `${event.type} of ${event.data.id}`;
    const times = (seen.get(event.id) ?? 0) + 1;
    seen.set(event.id, times);
    const [chance = 0, which = 0] = createHash('sha256')
      .update(`${name} ${event.id} ${times}`)
      .digest();
    if (times <= inARow && chance < 0.3 * 256) {
      failures += 1;
      return FAILURES[which % FAILURES.length]?.(response);
    }
    const before = accepted.get(event.id);
    if (before !== undefined && before.says !== says) forged.push(says);
    accepted.set(event.id, { says, times: (before?.times ?? 0) + 1 });
    response.writeHead(204).end();
    onAccepted();
  };

  const server = createServer((request, response) => {
    // A killed sender leaves half a message.
    request.on('error', () => undefined);
    take(request, response).catch((error: unknown) => {
      if (request.complete) forged.push(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}/${name}`,
    accepted,
    forged,
    get failures() {
      return failures;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
