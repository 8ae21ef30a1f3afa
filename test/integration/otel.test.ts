import { context, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { settled } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { observe, observeDeliveries } from 'exact-change/otel';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { callAttributes } from '../../adapters/otel/attributes.js';
import { blocksOf } from '../helpers/guides.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox();
const folder = mkdtempSync(join(tmpdir(), 'exact-change-otel-'));

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});

afterAll(() => {
  context.disable();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns providers that keep the spans and metrics that they get. */
function recorder() {
  const spans = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spans)],
  });
  const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: exported });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => meterProvider.shutdown());
  return {
    options: { tracerProvider, meterProvider },
    spans: () => spans.getFinishedSpans(),
    async metrics() {
      await reader.forceFlush();
      const [last] = exported.getMetrics().slice(-1);
      return (last?.scopeMetrics ?? []).flatMap(({ metrics }) => metrics);
    },
  };
}

/** Returns the path of each span through its parents, such as `a > b`. */
function pathsOf(spans: readonly ReadableSpan[], parent?: string, above = ''): string[] {
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
    .flatMap((span) => {
      const path = `${above}${span.name}`;
      return [path, ...pathsOf(spans, span.spanContext().spanId, `${path} > `)];
    });
}

/** Returns the paths of a tree that the documentation shows by its indents. */
function shownPaths(text: string): string[] {
  const above: string[] = [];
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const depth = line.search(/\S/) / 2;
      above.splice(depth, Infinity, line.trim());
      return above.join(' > ');
    });
}

const LABELS = new Set([
  ...['exact_change.outcome', 'exact_change.payment.state', 'error.type'],
  ...['rpc.system.name', 'rpc.method', 'server.address', 'server.port'],
  ...['db.system.name', 'db.operation.name'],
]);

describe('observe', () => {
  it('makes the trace that the documentation shows, without a secret in it', async () => {
    const journal = fileJournal(join(folder, 'payments.jsonl'));
    onTestFinished(() => journal.close());
    const { client: plain, secretKey } = await payerOn(
      sandbox,
      { SOL: '0.5' },
      { autoSwap: true, journal },
    );
    const { options, spans, metrics } = recorder();
    const client = observe(plain, options);
    const tracer = options.tracerProvider.getTracer('caller');
    await tracer.startActiveSpan('agent', async (agent) => {
      const response = await client.fetch(`${sandbox.apiUrl}/usdc?token=seller-secret`);
      await response.text();
      await settled(response);
      agent.end();
    });
    const [shown] = blocksOf('docs/observability.md').filter(({ language }) => language === 'text');
    expect(pathsOf(spans())).toEqual(expect.arrayContaining(shownPaths(shown?.code ?? 'no block')));
    const found = (name: string) => spans().find((span) => span.name === name);
    expect(found('exact_change.payment')?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'url.full': `${sandbox.apiUrl}/usdc`,
      'server.address': '127.0.0.1',
      'exact_change.payment.amount': '10000',
      'exact_change.payment.mint': sandbox.mints.USDC.address,
      'http.response.status_code': 200,
    });
    expect(found('exact_change.confirmation')?.attributes).toMatchObject({
      'exact_change.payment.state': 'settled',
    });
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
    const measured = await metrics();
    expect(measured.map(({ descriptor }) => descriptor.name).sort()).toEqual([
      'db.client.operation.duration',
      ...['cost', 'decided', 'duration'].map((name) => `exact_change.payment.${name}`),
      'exact_change.swap.duration',
      'rpc.client.call.duration',
    ]);
    const labels = measured.flatMap(({ dataPoints }) =>
      dataPoints.flatMap(({ attributes }) => Object.keys(attributes)),
    );
    expect(labels.filter((label) => !LABELS.has(label))).toEqual([]);
    const all = JSON.stringify([
      spans().map(({ name, attributes, events }) => [name, attributes, events]),
      measured,
    ]);
    expect(all).not.toContain('seller-secret');
    expect(all).not.toContain(secretKey);
  });

  it('records the code of a failed call, and no name from its seller', async () => {
    const { client: plain } = await payerOn(
      sandbox,
      { USDC: '1' },
      { policy: { maxPerPayment: '0.001' } },
    );
    const { options, spans, metrics } = recorder();
    const client = observe(plain, options);
    await failureOf(
      client.fetch(`${sandbox.apiUrl}/usdc`, { method: 'POST' }),
      'amount_over_limit',
    );
    const [payment] = spans().filter(({ name }) => name === 'exact_change.payment');
    expect(payment).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: {
        'http.request.method': 'POST',
        'error.type': 'amount_over_limit',
        'exact_change.payment.funds': 'untouched',
      },
    });
    const [duration] = (await metrics()).filter(
      ({ descriptor }) => descriptor.name === 'exact_change.payment.duration',
    );
    expect(duration?.dataPoints.map(({ attributes }) => attributes)).toEqual([
      { 'exact_change.outcome': 'failed', 'error.type': 'amount_over_limit' },
    ]);
  });

  it('ends the spans of a payment that settled before its answer was lost', async () => {
    const { client: plain } = await payerOn(sandbox, { USDC: '1' });
    const { options, spans } = recorder();
    const client = observe(plain, options);
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      if (seller.paid.length > 1) return request.destroy();
      const pending = { success: false, errorReason: 'settlement_pending', transaction: '' };
      void settle(sandbox, request).then(() =>
        answer(response, 402, {}, settlementHeader(pending)),
      );
    });
    await failureOf(client.fetch(seller.url), 'payment_uncertain');
    const paths = pathsOf(spans()).filter((path) => /^exact_change.payment( > GET)?$/.test(path));
    expect(paths).toEqual([
      'exact_change.payment',
      'exact_change.payment > GET',
      'exact_change.payment > GET',
    ]);
    const requests = spans().filter(({ name }) => name === 'GET');
    expect(requests.map(({ attributes }) => attributes['error.type'])).toEqual([
      undefined,
      'payment_uncertain',
    ]);
  });

  it('keeps simultaneous calls apart, and counts calls of the plain client too', async () => {
    const { client: plain } = await payerOn(sandbox, { USDC: '1' });
    const { options, spans } = recorder();
    const client = observe(plain, options);
    const calls = [client.fetch, client.fetch, plain.fetch];
    const responses = await Promise.all(
      calls.map((call, index) => call(`${sandbox.apiUrl}/usdc?${index}`)),
    );
    await Promise.all(responses.map((response) => settled(response)));
    const paths = pathsOf(spans());
    const count = (path: string) => paths.filter((found) => found === path).length;
    for (const part of ['exact_change.payment', 'exact_change.payment > GET'])
      expect([part, count(part)]).toEqual([part, 3]);
    expect(count('exact_change.payment > exact_change.confirmation')).toBe(3);
  });

  it('ends neither a call nor the process with an error of a span processor', async () => {
    const failing = {
      ...{ onStart: () => undefined, forceFlush: async () => undefined },
      ...{ shutdown: async () => undefined },
      onEnd: () => {
        throw new Error('The exporter is broken.');
      },
    };
    const ending = new AbortController();
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) ending.abort();
      else answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const { client: plain } = await payerOn(sandbox, { USDC: '1' });
    const client = observe(plain, {
      tracerProvider: new BasicTracerProvider({ spanProcessors: [failing] }),
    });
    const call = client.fetch(seller.url, { signal: ending.signal });
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('takes attributes of the conventions from a call, and no secret of its address', () => {
    const url = 'https://user:pass@[::1]:8443/a%0Ab?key=1#x';
    expect(callAttributes({ url, method: 'BREW\n' })).toEqual({
      'http.request.method': '_OTHER',
      'url.full': 'https://[::1]:8443/a%0Ab',
      'server.address': '[::1]',
      'server.port': 8443,
    });
  });

  it('refuses an unknown option', async () => {
    const { client } = await payerOn(sandbox);
    expect(() => observe(client, { tracer: 1 } as object)).toThrow(/tracer/);
  });
});

describe('observeDeliveries', () => {
  it('makes a span of each delivery, and counts the delivery by its outcome', async () => {
    const { options, spans, metrics } = recorder();
    const onDelivery = observeDeliveries(options);
    const report = {
      event: 'payment.settled',
      eventId: 'e',
      endpoint: 'we_1',
      failures: 0,
    } as const;
    onDelivery({ ...report, at: 1_000, ms: 20, delivered: true, status: 204 });
    onDelivery({ ...report, at: 2_000, ms: 20, delivered: false, status: 0 });
    expect(spans().map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['webhook payment.settled', undefined],
      ['webhook payment.settled', 'no_answer'],
    ]);
    const [duration] = await metrics();
    expect(duration?.dataPoints).toHaveLength(2);
  });
});
