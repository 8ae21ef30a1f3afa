import { createHandler, type HandlerOptions } from 'exact-change/http';
import type { Transport } from 'exact-change';
import { balanceOfUsdc, quote } from '../wire/samples.js';

export const BASE = 'https://pay.example.com';

/** Makes a transport that gives fixed answers and records its requests in `asked`. */
export function fakeTransport(over: Partial<Transport> = {}): {
  readonly transport: Transport;
  readonly asked: [string, unknown][];
} {
  const asked: [string, unknown][] = [];
  const recorded =
    <A>(name: string, answer: A) =>
    async (request: unknown): Promise<A> => {
      asked.push([name, request]);
      return answer;
    };
  const transaction = `AQ${'A'.repeat(86)}gAEC`;
  const offer = { index: 0, x402Version: 2 as const, payable: true };
  const transport: Transport = {
    quote: recorded('quote', quote),
    buildSwap: recorded('buildSwap', {
      transaction,
      lastValidBlockHeight: '9',
      quote,
      computeUnitLimit: 1,
      priorityFeeLamports: '0',
    }),
    balance: recorded('balance', [balanceOfUsdc]),
    parsePayment: recorded('parsePayment', { x402Version: 2, offers: [offer] }),
    autoPay: recorded('autoPay', {
      state: 'ready_to_sign',
      offer,
      payment: { transaction, lastValidBlockHeight: '9' },
    }),
    ...over,
  };
  return { transport, asked };
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

/** Makes a handler over the fake transport, with functions that call it as a server does. */
export function serving(options: HandlerOptions = {}, over: Partial<Transport> = {}) {
  const { transport, asked } = fakeTransport(over);
  const handler = createHandler(transport, options);
  const call = async (path: string, init?: RequestInit): Promise<Called> => {
    const response = await handler(new Request(BASE + path, init));
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : {},
    };
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { asked, handler, call, post };
}

/** A request with a JSON body that is a stream. */
export function streaming(
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): RequestInit & { duplex: 'half' } {
  return {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
    ...{ body, duplex: 'half' },
  };
}

/** A request with a body that begins and never ends. */
export const begun = () =>
  streaming(new ReadableStream({ start: (controller) => controller.enqueue(Uint8Array.of(0x7b)) }));
