import { ConfigError, TransportError } from '../../src/errors.js';
import { systemRuntime, type Runtime } from '../../src/internal/runtime.js';
import { callHook } from '../call-hook.js';
import { deliverOver, type Deliver } from './deliver.js';
import { endpointsOf } from './endpoints.js';
import { guardOutbox } from './guard-outbox.js';
import { parseWebhooksOptions, type WebhooksOptions, type WebhooksSettings } from './options.js';
import { registryOf } from './registry.js';
import { resolveByDns } from './resolve.js';
import type { WebhookRegistry } from './types.js';
import { createWorker, type WorkerParts } from './worker.js';

const MINUTE_MS = 60_000;

/** Registers endpoints, and delivers events to them. */
export interface Webhooks extends WebhookRegistry {
  /**
   * Begins to deliver the waiting events of the journal, and all events that it adds from now on.
   * Several processes may do so on one journal. Only a running delivery keeps the process alive.
   * Throws `ConfigError` (`client_closed`) after `close`.
   */
  start(): void;
  /**
   * Takes no more events, and waits up to 10 s for running deliveries. Then it cuts them off, and
   * the next process that delivers makes them again. Close the journal after it.
   */
  close(): Promise<void>;
}

/**
 * Delivers the events of a journal to registered endpoints, over HTTPS, signed as Standard
 * Webhooks. Each event is delivered at least once, in no fixed order. A failed delivery is tried
 * again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h. Node only.
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

/** `createWebhooks` with a given clock, randomness and delivery. */
export function webhooksOver(
  settings: WebhooksSettings,
  parts: { readonly runtime: Runtime; readonly deliver: Deliver },
): Webhooks {
  const outbox = guardOutbox(settings.outbox);
  const endpoints = endpointsOf(outbox, parts.runtime);
  const shared = { ...settings, ...parts, outbox, endpoints };
  const worker = createWorker(shared);
  const forget = reportDropped(shared);
  let isClosed = false;
  return {
    ...registryOf(shared),
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
 * Reports jobs that a full outbox dropped, also before `start`. It reports the first drop at once,
 * and then at most once a minute. A report has the count since the last report.
 */
function reportDropped({
  outbox,
  runtime: { now },
  onError,
}: Pick<WorkerParts, 'outbox' | 'runtime' | 'onError'>): () => void {
  let count = 0;
  let reportedAt = -Infinity;
  return outbox.onDropped((dropped) => {
    count += dropped;
    if (Math.abs(now() - reportedAt) < MINUTE_MS) return;
    const message = `The outbox is full, and ${count} of what waited longest in it were dropped untold. Call start(), and see which endpoints accept nothing.`;
    [count, reportedAt] = [0, now()];
    const error = new TransportError('journal_unavailable', message, {
      details: { step: 'outbox full' },
      retry: 'never',
    });
    callHook(() => onError(error));
  });
}
