/**
 * What a client does, as spans and metrics of OpenTelemetry.
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
import type { WebhookDelivery } from '../webhooks/types.js';
import { errorAttributes } from './attributes.js';
import { createInstruments } from './instruments.js';
import { createSpans } from './spans.js';

export interface ObserveOptions {
  /** Default: the one that is registered with the API. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the one that is registered with the API. */
  readonly meterProvider?: MeterProvider | undefined;
}

const NAME = 'exact-change';

/**
 * Makes spans and metrics of what a client does: payments, swaps, calls of RPC nodes, steps of the
 * journal. The client that it gives is the same one, whose calls have spans of their own; what is
 * called on the first is counted as well, and its spans are less deep.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the options are wrong.
 *
 * @example
 * const client = observe(createClient({ walletSecretKey }));
 */
export function observe(client: Client, options: ObserveOptions = {}): Client {
  const { tracer, meter } = toolsOf(options);
  const told = [createSpans(tracer), createInstruments(meter)] as const;
  const [spans] = told;
  const stops = [
    client.on('*', (event) => told.forEach((one) => one.step(event))),
    client.on('rpc.called', (event) => told.forEach((one) => one.rpc(event))),
    client.on('journal.called', (event) => told.forEach((one) => one.journal(event))),
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
 * Makes spans and a metric of the deliveries of webhooks.
 *
 * @example
 * const webhooks = createWebhooks({ journal, onDelivery: observeDeliveries() });
 */
export function observeDeliveries(options: ObserveOptions = {}): (report: WebhookDelivery) => void {
  const { tracer, meter } = toolsOf(options);
  const duration = meter.createHistogram('exact_change.webhook.duration', {
    ...{ description: 'Deliveries of webhooks.', unit: 's' },
  });
  return ({ event, endpoint, at, ms, status, told }) => {
    const attributes = {
      'exact_change.webhook.event': event,
      ...(status === 0 ? {} : { 'http.response.status_code': status }),
      ...errorAttributes(told ? undefined : status === 0 ? 'no_answer' : `${status}`),
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
    if (!told) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(new Date(at));
  };
}

function toolsOf(options: ObserveOptions) {
  refuseUnknown(options, ['tracerProvider', 'meterProvider']);
  const { tracerProvider = trace, meterProvider = metrics } = options;
  return { tracer: tracerProvider.getTracer(NAME), meter: meterProvider.getMeter(NAME) };
}
