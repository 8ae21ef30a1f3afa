import type { Client, Receipt } from 'exact-change';
import { receiptOf } from 'exact-change';
import { expect } from 'vitest';
import { comparable, comparablePaid, hashOf, paymentOf } from './fetch-record.js';
import { PRICE, type Twins } from './fetch-twins.js';
import type { Buyer } from './fetch-buyer.js';

/** The parts of a response that a caller can observe. */
export interface Outcome {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly type: string;
  readonly redirected: boolean;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: number; readonly sha256: string };
}

// Headers that differ between runs, or that the official middleware adds to a paid answer.
const APART = ['date', 'payment-response', 'x-payment-response', 'cache-control'];

export async function outcomeOf(response: Response): Promise<Outcome> {
  const { status, statusText, ok, type, redirected, headers, url } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  return {
    status,
    statusText,
    ok,
    type,
    redirected,
    path: url.replace(/^https?:\/\/[^/]+/, ''),
    headers: Object.fromEntries([...headers].filter(([name]) => !APART.includes(name))),
    body: { bytes: bytes.length, sha256: hashOf(bytes) },
  };
}

type Call = (fetch: Client['fetch'], origin: string) => Promise<Response>;

export interface CompareOptions {
  /** Headers that may differ in the paid request, such as the length of a stream. */
  readonly except?: readonly string[];
  /** Fields of the outcome that may differ. */
  readonly apart?: readonly (keyof Outcome)[];
}

/**
 * Makes the same call with plain fetch to the free twin and with the client to the paid twin.
 * Expects the same answer, and the same requests at the server, first without a payment, then with
 * a payment. Returns the receipt and the outcome.
 */
export async function expectSame(
  twins: Twins,
  buyer: Buyer,
  call: Call,
  { except = [], apart = [] }: CompareOptions = {},
): Promise<{ receipt: Receipt; outcome: Outcome }> {
  twins.forget();
  const plain = await outcomeOf(await call((input, init) => fetch(input, init), twins.free.url));
  const before = await buyer.spent();
  const response = await call(buyer.client.fetch, twins.paid.url);
  const receipt = receiptOf(response);
  const outcome = await outcomeOf(response);
  const compared = (part: Outcome): object =>
    Object.fromEntries(
      Object.entries(part).filter(([name]) => !apart.some((field) => field === name)),
    );
  expect(compared(outcome)).toEqual(compared(plain));
  expect((await buyer.spent()) - before).toBe(PRICE);

  const [free] = twins.free.seen.slice(-1);
  const [unpaid, paid] = twins.paid.seen.slice(-2);
  if (free === undefined || unpaid === undefined || paid === undefined || receipt === undefined)
    throw new Error('Nothing was paid.');
  expect([paymentOf(unpaid), typeof paymentOf(paid)]).toEqual([undefined, 'string']);
  expect(comparable(unpaid)).toEqual(comparable(free));
  expect(comparablePaid(paid, except)).toEqual(comparable(free, except));
  return { receipt, outcome };
}
