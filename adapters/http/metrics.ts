import type { PaymentResult } from '../../src/transport.js';
import type { WebhookDelivery } from '../webhooks/types.js';

/** Numbers that a service counts, for Prometheus. */
export interface Metrics {
  /** Returns the current numbers in the text format of Prometheus. */
  text(): string;
  /** Counts a delivery: give it to `createWebhooks` as `onDelivery`. */
  readonly onDelivery: (report: WebhookDelivery) => void;
  /** @internal Counts a step of a payment, by the state after the step. */
  step(state: PaymentResult['state']): void;
  /** @internal Starts to time a request; the returned function counts it with its status. */
  request(): (route: string, method: string, status: number) => void;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Upper bounds in seconds: from a cached answer to an answer that waits for a swap to land. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type Labels = Readonly<Record<string, string>>;

/**
 * Creates the metrics of a service, for `GET /metrics`. Labels have few possible values, and none of
 * them names a caller, a wallet, a seller or an endpoint.
 *
 * @example
 * const metrics = createMetrics();
 * const webhooks = createWebhooks({ journal, onDelivery: metrics.onDelivery });
 * const handler = createHandler(transport, { authorize: apiKeys([apiKey]), webhooks, metrics });
 */
export function createMetrics(now: () => number = () => performance.now()): Metrics {
  const requests = counter('exact_change_http_requests_total', 'Requests that were answered.');
  const durations = histogram('exact_change_http_request_duration_seconds', 'Time to the answer.');
  const steps = counter('exact_change_auto_pay_steps_total', 'Steps of payments, by their state.');
  const deliveries = counter('exact_change_webhook_deliveries_total', 'Deliveries of webhooks.');
  const deliverySeconds = histogram(
    'exact_change_webhook_delivery_duration_seconds',
    'Time to the answer of an endpoint.',
  );
  let inFlight = 0;
  const inFlightText = (): string =>
    [
      '# HELP exact_change_http_requests_in_flight Requests that wait for their answer.',
      '# TYPE exact_change_http_requests_in_flight gauge',
      `exact_change_http_requests_in_flight ${inFlight}`,
    ].join('\n');
  return {
    text: () =>
      `${[requests.text(), durations.text(), inFlightText(), steps.text(), deliveries.text(), deliverySeconds.text()].join('\n')}\n`,
    onDelivery({ event, delivered, ms }) {
      deliveries.add({ event, outcome: delivered ? 'delivered' : 'failed' });
      deliverySeconds.record({ event }, ms / 1000);
    },
    step: (state) => steps.add({ state }),
    request() {
      const startedAt = now();
      inFlight += 1;
      return (route, method, status) => {
        inFlight -= 1;
        requests.add({ route, method, status: `${status}` });
        durations.record({ route, method }, (now() - startedAt) / 1000);
      };
    },
  };
}

/** Creates a counter with labels. */
function counter(name: string, help: string) {
  const counts = new Map<string, number>();
  return {
    add(labels: Labels): void {
      const key = keyOf(labels);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    text: () =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} counter`,
        ...[...counts].map(([key, count]) => `${name}{${key}} ${count}`),
      ].join('\n'),
  };
}

/** Creates a histogram with labels. */
function histogram(name: string, help: string) {
  const series = new Map<string, { readonly counts: number[]; sum: number; count: number }>();
  return {
    record(labels: Labels, seconds: number): void {
      const key = keyOf(labels);
      const totals = series.get(key) ?? { counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
      series.set(key, totals);
      BUCKETS.forEach((bound, index) => {
        if (seconds <= bound) totals.counts[index] = (totals.counts[index] ?? 0) + 1;
      });
      totals.sum += seconds;
      totals.count += 1;
    },
    text: () =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} histogram`,
        ...[...series].flatMap(([key, { counts, sum, count }]) => [
          ...BUCKETS.map((bound, index) => `${name}_bucket{${key},le="${bound}"} ${counts[index]}`),
          `${name}_bucket{${key},le="+Inf"} ${count}`,
          `${name}_sum{${key}} ${sum}`,
          `${name}_count{${key}} ${count}`,
        ]),
      ].join('\n'),
  };
}

/** Writes labels. The values need no escaping: a path, a method or a state has no quote in it. */
function keyOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');
}
