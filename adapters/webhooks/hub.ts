import { ConfigError, TransportError } from '../../src/errors.js';
import { systemRuntime, type Runtime } from '../../src/internal/runtime.js';
import type { Outbox } from '../../src/outbox/outbox.js';
import { deliverOver, type Deliver } from './deliver.js';
import { endpointsOf } from './endpoints.js';
import { guardOutbox } from './guard-outbox.js';
import { parseWebhooksOptions, type WebhooksOptions, type WebhooksSettings } from './options.js';
import { registryOf } from './registry.js';
import { resolveByDns } from './resolve.js';
import type { WebhookRegistry } from './types.js';
import { createWorker } from './worker.js';

const MINUTE_MS = 60_000;

/** Which endpoint is told what, and the telling. */
export interface Webhooks extends WebhookRegistry {
  /**
   * Begins to deliver what waits, and what the journal adds from now on. Several processes on one
   * journal may. It does not keep the process alive: only a delivery under way does. Throws
   * `ConfigError` (`client_closed`) after `close`.
   */
  start(): void;
  /**
   * Takes no more, waits up to 10 s for deliveries under way, and cuts off the rest: those are made
   * again by the process that delivers next. Close the journal after it.
   */
  close(): Promise<void>;
}

/**
 * Tells what a journal writes to the endpoints that want to know, over HTTPS, signed as Standard
 * Webhooks: each event at least once, in no order, again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20
 * and 24 h if it fails. Node only.
 *
 * Throws `ConfigError` (`invalid_option`) if the options are wrong, or the journal keeps no
 * outbox.
 *
 * @example
 * const webhooks = createWebhooks({ journal, onError: (error) => console.error(error) });
 * webhooks.start();
 * const { id, secret } = await webhooks.register({
 *   url: 'https://shop.example.com/paid',
 *   events: ['payment.settled', 'payment.failed'],
 * });
 */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const settings = parseWebhooksOptions(options);
  const { rules, timeoutMs } = settings;
  return webhooksOver(settings, {
    runtime: systemRuntime,
    deliver: deliverOver({ rules, resolve: resolveByDns, timeoutMs }),
  });
}

/** The same with a clock, chance and a way to deliver of one's own. */
export function webhooksOver(
  settings: WebhooksSettings,
  parts: { readonly runtime: Runtime; readonly deliver: Deliver },
): Webhooks {
  const { outbox: _, rules, ...work } = settings;
  const { onError } = settings;
  const outbox = guardOutbox(settings.outbox);
  const shared = { ...parts, outbox, endpoints: endpointsOf(outbox, parts.runtime) };
  const worker = createWorker({ ...shared, ...work });
  const forget = tellOfDropped(outbox, parts.runtime, onError);
  let isClosed = false;
  return {
    ...registryOf({ ...shared, rules }),
    start() {
      if (isClosed)
        throw new ConfigError(
          'client_closed',
          'These webhooks were closed. Make new ones with createWebhooks.',
          { details: {} },
        );
      worker.start();
    },
    close() {
      isClosed = true;
      forget();
      return worker.close();
    },
  };
}

/**
 * Also of what is dropped before anything is delivered: at once, and then at most once a minute,
 * each time of all since.
 */
function tellOfDropped(
  outbox: Outbox,
  { now }: Runtime,
  onError: WebhooksSettings['onError'],
): () => void {
  let count = 0;
  let toldAt = -Infinity;
  return outbox.onDropped((more) => {
    count += more;
    if (Math.abs(now() - toldAt) < MINUTE_MS) return;
    const message = `The outbox is full, and ${count} of what waited longest in it were dropped untold. Call start(), and see which endpoints accept nothing.`;
    [count, toldAt] = [0, now()];
    const error = new TransportError('journal_unavailable', message, {
      details: { step: 'outbox full' },
      retry: 'never',
    });
    // A log that fails must not stop what it tells of.
    new Promise<void>((resolve) => resolve(onError(error))).catch(() => undefined);
  });
}
