import { createMetrics } from 'exact-change/http';
import { describe, expect, it } from 'vitest';
import { serving } from './fake.js';

const KEY = 'one-long-random-key';
const QUOTE = '/api/quote?inputMint=SOL&outputMint=USDC&amount=1000000';

function counting() {
  const metrics = createMetrics();
  const isLetIn = (request: Request) => request.headers.get('x-api-key') === KEY;
  const service = serving({ metrics, authorize: isLetIn, basePath: '/pay' });
  const get = (path: string, method = 'GET') =>
    service.call(`/pay${path}`, { method, headers: { 'x-api-key': KEY } });
  return { ...service, get, metrics };
}

/** Returns the lines of a metric family, without its buckets. */
const linesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket'));

describe('GET /metrics', () => {
  it('counts requests by route, method and status, behind authorize', async () => {
    const { call, get } = counting();
    expect((await call('/pay/metrics')).status).toBe(401);
    await get(QUOTE);
    await get(QUOTE);
    await get('/api/quote');
    await get('/wp-admin/"} evil 1\n?x=1', 'PUT');
    await get('/api/health', 'DELETE');
    const answer = await get('/metrics');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(linesOf(answer.text, 'exact_change_http_requests_total')).toEqual([
      'exact_change_http_requests_total{route="/pay/metrics",method="GET",status="401"} 1',
      'exact_change_http_requests_total{route="/pay/api/quote",method="GET",status="200"} 2',
      'exact_change_http_requests_total{route="/pay/api/quote",method="GET",status="400"} 1',
      'exact_change_http_requests_total{route="other",method="other",status="404"} 1',
      'exact_change_http_requests_total{route="/pay/api/health",method="other",status="405"} 1',
    ]);
    expect(answer.text).toContain('\nexact_change_http_requests_in_flight 1\n');
    expect((await get('/metrics', 'HEAD')).text).toBe('');
  });

  it('counts payment steps and deliveries in the Prometheus text format', async () => {
    const { post, metrics } = counting();
    const paymentRequired = { url: 'https://api.example.com/', headers: {}, body: {} };
    const wallet = 'GsbwXfJraMomNxBcjYLcG3mxkBUiyWXAB32fGbSMQRdW';
    const step = { paymentRequired, wallet };
    expect((await post('/pay/api/x402/auto-pay', step, { 'x-api-key': KEY })).status).toBe(200);
    const delivery = {
      event: 'payment.settled',
      eventId: 'e',
      endpoint: 'w',
      failures: 0,
    } as const;
    metrics.onDelivery({ ...delivery, at: 0, ms: 30, delivered: true, status: 200 });
    metrics.onDelivery({ ...delivery, at: 0, ms: 3_000, delivered: false, status: 500 });
    const text = metrics.text();
    expect(text).toContain('exact_change_auto_pay_steps_total{state="ready_to_sign"} 1\n');
    const outcomes = linesOf(text, 'exact_change_webhook_deliveries_total');
    expect(outcomes.map((line) => line.split('outcome=')[1])).toEqual([
      '"delivered"} 1',
      '"failed"} 1',
    ]);
    const seconds = 'exact_change_webhook_delivery_duration_seconds';
    expect(linesOf(text, seconds)).toEqual([
      `${seconds}_sum{event="payment.settled"} 3.03`,
      `${seconds}_count{event="payment.settled"} 2`,
    ]);
    expect(text).toContain(`${seconds}_bucket{event="payment.settled",le="0.05"} 1\n`);
    expect(text).toContain(`${seconds}_bucket{event="payment.settled",le="5"} 2\n`);
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="[^"]*",?)*\})? [\d.]+)$/);
  });

  it('answers 404 without option metrics, and is absent from the OpenAPI document', async () => {
    const { call } = serving();
    expect((await call('/metrics')).status).toBe(404);
    expect((await call('/openapi.json')).text).not.toContain('/metrics');
  });
});
