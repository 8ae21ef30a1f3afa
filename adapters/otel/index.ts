/**
 * Spans and metrics of OpenTelemetry for a client.
 *
 * @module exact-change/otel
 */
import {
  metrics,
  SpanKind,
  SpanStatusCode,
  trace,
  type MeterProvider,
  type TracerProvider,
} from '@opentelemetry/api';
import type { Client } from '../../src/client.js';
import { refuseUnknown } from '../../src/internal/options.js';
import { checkClient } from '../check-client.js';
import type { WebhookDelivery } from '../webhooks/types.js';
import { errorAttributes } from './attributes.js';
import { createInstruments } from './instruments.js';
import { createSpans } from './spans.js';

export interface ObserveOptions {
  /** Default: the provider that is registered with the API. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the provider that is registered with the API. */
  readonly meterProvider?: MeterProvider | undefined;
}

const NAME = 'exact-change';

/**
 * Makes spans and metrics of a client's payments, swaps, RPC calls and journal steps. Returns the
 * client with wrapped calls, so that RPC and journal spans are children of the payment's span.
 * Calls on the original client are counted as well, but their spans are not nested.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the client or the options are wrong.
 *
 * @example
 * const client = observe(createClient({ walletSecretKey }));
 */
export function observe(client: Client, options: ObserveOptions = {}): Client {
  checkClient(client, 'on');
  const { tracer, meter } = toolsOf(options);
  const observers = [createSpans(tracer), createInstruments(meter)] as const;
  const [spans] = observers;
  const stops = [
    client.on('*', (event) => observers.forEach((observer) => observer.step(event))),
    client.on('rpc.called', (event) => observers.forEach((observer) => observer.rpc(event))),
    client.on('journal.called', (event) =>
      observers.forEach((observer) => observer.journal(event)),
    ),
  ];
  return {
    ...client,
    fetch: (input, init) => spans.within(() => client.fetch(input, init)),
    pay: (terms, payOptions) => spans.within(() => client.pay(terms, payOptions)),
    swap: (request, swapOptions) => spans.within(() => client.swap(request, swapOptions)),
    async close() {
      await client.close();
      for (const stop of stops) stop();
    },
  };
}

/**
 * Returns a function that makes a span and a metric of each webhook delivery.
 *
 * @example
 * const webhooks = createWebhooks({ journal, onDelivery: observeDeliveries() });
 */
export function observeDeliveries(options: ObserveOptions = {}): (report: WebhookDelivery) => void {
  const { tracer, meter } = toolsOf(options);
  const duration = meter.createHistogram('exact_change.webhook.duration', {
    ...{ description: 'Deliveries of webhooks.', unit: 's' },
  });
  return ({ event, endpoint, at, ms, status, delivered }) => {
    const attributes = {
      'exact_change.webhook.event': event,
      ...(status === 0 ? {} : { 'http.response.status_code': status }),
      ...errorAttributes(delivered ? undefined : status === 0 ? 'no_answer' : `${status}`),
    };
    duration.record(ms / 1000, attributes);
    const span = tracer.startSpan(`webhook ${event}`, {
      ...{ kind: SpanKind.PRODUCER, startTime: new Date(at - ms) },
      attributes: {
        ...attributes,
        'messaging.operation.type': 'send',
        'messaging.destination.name': endpoint,
      },
    });
    if (!delivered) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(new Date(at));
  };
}

function toolsOf(options: ObserveOptions) {
  refuseUnknown(options, ['tracerProvider', 'meterProvider']);
  const { tracerProvider = trace, meterProvider = metrics } = options;
  return { tracer: tracerProvider.getTracer(NAME), meter: meterProvider.getMeter(NAME) };
}
