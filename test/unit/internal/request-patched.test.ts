import { http as route, HttpResponse } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { captureCall } from '../../../src/internal/request.js';
import { X402_HEADERS } from '../../../src/protocols/x402/index.js';

const capture = (pass: typeof fetch, input: RequestInfo | URL, init?: RequestInit) =>
  captureCall(pass, input, init, X402_HEADERS);

const URL_ = 'https://seller.test/data';
const seen: [string, string][][] = [];
const server = setupServer(
  route.all(URL_, ({ request }) => {
    seen.push([...request.headers]);
    return HttpResponse.json({});
  }),
);

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
afterAll(() => server.close());

// The interceptors of msw keep headers beside the real headers and make copies from them, without
// headers that the runtime sets.
it.each<[string, () => [string | Request, RequestInit?]]>([
  ['text', () => [URL_, { method: 'POST', body: 'x' }]],
  [
    'text and another header',
    () => [URL_, { method: 'POST', body: 'x', headers: { 'x-one': '1' } }],
  ],
  [
    'a form',
    () => [
      URL_,
      { method: 'POST', body: new URLSearchParams('a=b'), headers: new Headers({ 'x-one': '1' }) },
    ],
  ],
  [
    'a blob',
    () => [
      URL_,
      { method: 'POST', body: new Blob(['x'], { type: 'text/x' }), headers: [['x-one', '1']] },
    ],
  ],
  [
    'JSON',
    () => [URL_, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
  ],
  [
    'a Request',
    () => [new Request(URL_, { method: 'POST', body: 'x', headers: { 'x-one': '1' } })],
  ],
])(
  'sends the paid request with the headers of the unpaid request when msw patches fetch: %s',
  async (_, make) => {
    seen.length = 0;
    const call = capture(fetch, ...make());
    await call?.sendUnpaid();
    await call?.sendPaid(
      URL_,
      { name: 'PAYMENT-SIGNATURE', value: 'x' },
      new AbortController().signal,
    );
    const [unpaid = [], paid] = seen;
    expect(unpaid.map(([name]) => name)).toContain('content-type');
    expect(paid).toEqual([...unpaid, ['payment-signature', 'x']].sort());
  },
);
