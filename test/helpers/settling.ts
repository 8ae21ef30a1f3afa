import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Sandbox } from 'exact-change-sandbox';
import { entryV1, entryV2 } from '../fixtures/malformed-402.js';
import type { SeenRequest } from './seller.js';

type Json = Record<string, unknown>;
type PaidRequest = IncomingMessage | SeenRequest;

/** The facilitator's answer to a request to settle a payment. */
export interface Settled {
  readonly success: boolean;
  /** The transaction's id; empty if it did not land. */
  readonly transaction: string;
  readonly errorReason?: string;
}

/** Returns the payment header of a request, verbatim. */
export function paymentHeader({ headers }: PaidRequest): string {
  return String(headers['payment-signature'] ?? headers['x-payment']);
}

/**
 * Settles a payment at the facilitator, as a seller does. Payments of version 2 name their terms;
 * for version 1, pass `terms`.
 */
export async function settle(
  sandbox: Sandbox,
  request: PaidRequest,
  terms?: Json,
): Promise<Settled> {
  const paymentPayload = JSON.parse(
    Buffer.from(paymentHeader(request), 'base64').toString('utf8'),
  ) as { accepted?: Json };
  const paymentRequirements = terms ?? paymentPayload.accepted;
  const response = await fetch(`${sandbox.facilitatorUrl}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ paymentPayload, paymentRequirements }),
  });
  return (await response.json()) as Settled;
}

/** Returns the header of version 2 with the seller's report on a settlement. */
export function settlementHeader(settlement: Json): Readonly<Record<string, string>> {
  return {
    'payment-response': Buffer.from(JSON.stringify({ network: 'solana', ...settlement })).toString(
      'base64',
    ),
  };
}

/** Answers a paid request with a JSON body; `headers` may report the settlement. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Returns an offer in USDC to the sandbox's merchant, paid through the sandbox's facilitator. */
export function offerOf(sandbox: Sandbox, change: Json = {}): Json {
  return entryV2({
    payTo: sandbox.merchant,
    extra: { feePayer: sandbox.feePayer },
    amount: '10000',
    ...change,
  });
}

/** Returns the same offer in version 1. */
export function offerV1Of(sandbox: Sandbox, change: Json = {}): Json {
  return entryV1({
    payTo: sandbox.merchant,
    extra: { feePayer: sandbox.feePayer },
    maxAmountRequired: '10000',
    ...change,
  });
}
