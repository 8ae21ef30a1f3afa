import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Journal } from 'exact-change';
import {
  createWebhooks,
  verifyWebhook,
  type WebhookEvent,
  type WebhookEventName,
  type Webhooks,
} from 'exact-change/webhooks';
import { until } from '../../helpers/chain.js';
import type { World } from './world.js';

/** What becomes of a message at its receiver. `before` is how many came before it. */
export type Meet = (response: ServerResponse, before: number) => void;

/** A message as it came. */
interface Came {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly at: number;
}

export interface Receiver {
  readonly url: string;
  readonly came: readonly Came[];
  /** What came, each verified by a secret at the time when it came; once so many have. */
  events(secret: string, count: number): Promise<WebhookEvent[]>;
}

export const accept: Meet = (response) => void response.writeHead(204).end();

/** The first meets this fate, the others are accepted. */
export const onFirst =
  (first: Meet): Meet =>
  (response, before) =>
    (before === 0 ? first : accept)(response, before);

/** The receiver of what is told, on the loopback. */
export async function receiving(world: World, meet: Meet = accept): Promise<Receiver> {
  const came: Came[] = [];
  const { url } = await world.seller((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      came.push({ headers: request.headers, body, at: Date.now() });
      meet(response, came.length - 1);
    });
  });
  return {
    url,
    came,
    async events(secret, count) {
      await until(
        `${count} messages came`,
        () => (came.length >= count ? true : undefined),
        30_000,
      );
      return came.map(({ headers, body, at }) => verifyWebhook({ secret, headers, body, now: at }));
    },
  };
}

export interface Telling {
  readonly webhooks: Webhooks;
  readonly id: string;
  readonly secret: string;
}

/** Tells a receiver what a journal writes. */
export async function telling(
  world: World,
  journal: Journal,
  { url }: Receiver,
  events: readonly WebhookEventName[] = ['payment.settled'],
): Promise<Telling> {
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true, timeoutMs: 1_500 });
  world.onClose(() => webhooks.close());
  const { id, secret } = await webhooks.register({ url, events });
  webhooks.start();
  return { webhooks, id, secret };
}
