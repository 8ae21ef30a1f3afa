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

/** Answers a message at its receiver. `before` is the number of earlier messages. */
export type Meet = (response: ServerResponse, before: number) => void;

/** A received message. */
interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly at: number;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Waits for `count` messages, and returns all events, each verified at its time of arrival. */
  events(secret: string, count: number): Promise<WebhookEvent[]>;
}

export const accept: Meet = (response) => void response.writeHead(204).end();

/** Answers the first message with `first`, and accepts later messages. */
export const onFirst =
  (first: Meet): Meet =>
  (response, before) =>
    (before === 0 ? first : accept)(response, before);

/** Starts a webhook receiver on the loopback. */
export async function receiving(world: World, meet: Meet = accept): Promise<Receiver> {
  const received: Received[] = [];
  const { url } = await world.seller((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body, at: Date.now() });
      meet(response, received.length - 1);
    });
  });
  return {
    url,
    received,
    async events(secret, count) {
      await until(`${count} messages arrived`, () => (received.length >= count ? true : undefined));
      return received.map(({ headers, body, at }) =>
        verifyWebhook({ secret, headers, body, now: at }),
      );
    },
  };
}

export interface Telling {
  readonly webhooks: Webhooks;
  readonly id: string;
  readonly secret: string;
}

export interface Wishes {
  /** Default: `payment.settled`. */
  readonly events?: readonly WebhookEventName[];
  /** Limit of a delivery. */
  readonly timeoutMs?: number | undefined;
}

/** Delivers the events of a journal to a receiver. */
export async function telling(
  world: World,
  journal: Journal,
  { url }: Receiver,
  { events = ['payment.settled'], timeoutMs }: Wishes = {},
): Promise<Telling> {
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true, timeoutMs });
  world.onClose(() => webhooks.close());
  const { id, secret } = await webhooks.register({ url, events });
  webhooks.start();
  return { webhooks, id, secret };
}
