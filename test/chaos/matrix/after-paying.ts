import type { ServerResponse } from 'node:http';
import {
  isExactChangeError,
  receiptOf,
  SOLANA_MAINNET,
  type Attempt,
  type EventName,
  type ExactChangeError,
  type Receipt,
} from 'exact-change';
import { expect } from 'vitest';
import { base64 } from '../../fixtures/malformed-402.js';
import { landed, until } from '../../helpers/chain.js';
import { failureOf } from '../../helpers/payer.js';
import { isPaid, type Seller } from '../../helpers/seller.js';
import { answer, type Answer, type Exchange, type Fate, type Front } from './front.js';
import type { Buyer, BuyInit, World } from './world.js';

/** One cent in base units of USDC: what the paid API asks for. */
const PRICE = '10000';

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** Makes a front decision that passes unpaid requests on. */
export function onPaid(
  decide: (exchange: Exchange) => Promise<Fate> | Fate,
): (exchange: Exchange) => Promise<Fate> | Fate {
  return (exchange) => (exchange.isPaid ? decide(exchange) : exchange.pass());
}

/** Makes a decision for the first paid request; later paid requests are served. */
export function onFirstPaid(
  decide: (exchange: Exchange) => Promise<Fate> | Fate,
): (exchange: Exchange) => Promise<Fate> | Fate {
  return onPaid((exchange) => (exchange.beforeAlike === 0 ? decide(exchange) : exchange.pass()));
}

/** Lets the merchant serve and settle, and changes its answer. */
export function afterSettling(
  change: (real: Answer) => Fate,
): (exchange: Exchange) => Promise<Fate> {
  return async (exchange) => {
    const real = await exchange.pass();
    // The scenario proves nothing without a settlement.
    expect([real.status, wordOf(real)?.success]).toEqual([200, true]);
    return change(real);
  };
}

/** The seller's `payment-response` about a settlement. */
export interface Word {
  readonly success: boolean;
  readonly transaction: string;
  readonly network: string;
  readonly payer?: string;
  readonly errorReason?: string;
}

export function wordOf({ headers }: Answer): Word | undefined {
  const value = headers['payment-response'];
  return value === undefined
    ? undefined
    : (JSON.parse(Buffer.from(value, 'base64').toString()) as Word); // The official format.
}

/** Makes a 402 with the seller's reason why it settled nothing. */
export function refusal(errorReason: string, transaction = ''): Answer {
  const word: Word = { success: false, errorReason, transaction, network: SOLANA_MAINNET };
  return answer(402, '{}', {
    'content-type': 'application/json',
    'payment-response': base64(word),
  });
}

/** Makes an answer of 200 with the given `payment-response`. */
export function delivery(word: unknown): Answer {
  return answer(200, '{"ok":true}', {
    'content-type': 'application/json',
    'payment-response': base64(word),
  });
}

/** Starts a seller that lets the real seller settle, and writes the paid answer with `write`. */
export function mangled(
  world: World,
  write: (response: ServerResponse, real: Answer) => unknown,
): Promise<Seller> {
  return world.seller((request, response) => {
    const name = 'payment-signature';
    const header = request.headers[name];
    const headers = typeof header === 'string' ? { [name]: header } : {};
    const relay = async () => {
      const real = await fetch(new URL(request.url ?? '/', world.sandbox.apiUrl), {
        headers,
        redirect: 'manual',
      });
      const whole = {
        status: real.status,
        headers: Object.fromEntries(real.headers),
        body: Buffer.from(await real.arrayBuffer()),
      };
      if (isPaid(request)) return void write(response, whole);
      response
        .writeHead(whole.status, { 'payment-required': whole.headers['payment-required'] ?? '' })
        .end(whole.body);
    };
    relay().catch(() => request.socket.destroy());
  });
}

/** Returns the error of a call, whose payment the seller may have taken. */
export async function uncertain(
  call: Promise<Response>,
): Promise<ExactChangeError<'payment_uncertain'>> {
  const error = await failureOf(call, 'payment_uncertain');
  expectUncertain(error);
  return error;
}

/** Expects the error of a payment that the seller may have taken. */
export function expectUncertain(error: ExactChangeError): void {
  expect(error).toMatchObject({
    name: 'SettlementError',
    funds: 'uncertain',
    moved: [],
    retry: 'same',
  });
  expect(error.details).toMatchObject({
    payerSignature: expect.stringMatching(SIGNATURE),
    lastValidBlockHeight: expect.stringMatching(/^[0-9]+$/),
  });
}

/** What names a payment: an error, an answer with a receipt, or the attempt on record. */
type Named = ExactChangeError | Response | Attempt | undefined;

export function payerSignatureOf(told: Named): string {
  if (told instanceof Response) return receiptOf(told)?.payment.payerSignature ?? 'no receipt';
  if (!isExactChangeError(told)) return told?.payment?.payerSignature ?? 'no payment';
  return 'payerSignature' in told.details ? (told.details.payerSignature ?? 'none') : 'none';
}

export function told(buyer: Buyer, type: EventName, times = 1): Promise<true> {
  const count = () => buyer.events.filter((event) => event.type === type).length;
  return until(`${times} ${type}`, () => (count() >= times ? true : undefined));
}

/** Expects that the same call rejects as already spent, with the transaction on the chain. */
export async function expectSpent(
  world: World,
  buyer: Buyer,
  purchase: string,
  init: BuyInit,
  payment: Named,
): Promise<void> {
  const payerSignature = payerSignatureOf(payment);
  const error = await failureOf(world.buy(buyer, purchase, init), 'already_spent');
  const { signature = '' } = error.details;
  expect(error).toMatchObject({
    name: 'SettlementError',
    funds: 'spent',
    retry: 'never',
    details: { payerSignature },
  });
  const inputMint = world.sandbox.mints.USDC.address;
  expect(error.moved).toEqual([{ kind: 'payment', signature, inputMint, inAmount: PRICE }]);
  const transaction = await landed(world.sandbox.rpcUrl, signature);
  expect([transaction.error, transaction.signatures.includes(payerSignature)]).toEqual([
    null,
    true,
  ]);
}

/** Expects that the same call is served for the existing payment. */
export async function expectServed(
  world: World,
  buyer: Buyer,
  purchase: string,
  init: BuyInit,
  payment: Named,
): Promise<void> {
  const payerSignature = payerSignatureOf(payment);
  const response = await world.buy(buyer, purchase, init);
  expect([response.status, payerSignatureOf(response)]).toEqual([200, payerSignature]);
  await response.text();
}

export function payments({ signed }: Buyer): number {
  return signed.filter(({ kind }) => kind === 'payment').length;
}

/** Expects that the buyer signed one payment and presented the same bytes each time. */
export function expectSameBytes(buyer: Buyer, front: Front, times: number): void {
  const headers = front.exchanges.flatMap(({ headers: { 'payment-signature': header } }) =>
    header === undefined ? [] : [header],
  );
  expect([headers.length, new Set(headers).size, payments(buyer)]).toEqual([times, 1, 1]);
}

export async function receiptsOf({ client }: Buyer): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  for await (const receipt of client.receipts()) receipts.push(receipt);
  return receipts;
}
