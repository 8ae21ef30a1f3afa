import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Sandbox } from 'exact-change-sandbox';
import { entryV1, entryV2 } from '../fixtures/malformed-402.js';
import type { SeenRequest } from './seller.js';

type Json = Record<string, unknown>;
type Asked = IncomingMessage | SeenRequest;

/** What the sandbox's facilitator says of a payment that it was given to settle. */
export interface Settled {
  readonly success: boolean;
  /** The transaction's id; empty if it did not land. */
  readonly transaction: string;
  readonly errorReason?: string;
}

/** The payment header of a request, as it came. */
export function paymentHeader({ headers }: Asked): string {
  return String(headers['payment-signature'] ?? headers['x-payment']);
}

/**
 * Has a payment settled as a seller would. Without its terms they are those that the payment itself
 * names, which version 1 does not.
 */
export async function settle(sandbox: Sandbox, request: Asked, terms?: Json): Promise<Settled> {
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

/** The seller's word on a settlement, as version 2 puts it into a header. */
export function settlementHeader(settlement: Json): Readonly<Record<string, string>> {
  return {
    'payment-response': Buffer.from(JSON.stringify({ network: 'solana', ...settlement })).toString(
      'base64',
    ),
  };
}

/** Answers a paid request with a body, and a word on the settlement if there is one. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** One offer in USDC to the sandbox's merchant, paid through its facilitator. */
export function offerOf(sandbox: Sandbox, change: Json = {}): Json {
  return entryV2({
    payTo: sandbox.merchant,
    extra: { feePayer: sandbox.feePayer },
    amount: '10000',
    ...change,
  });
}

/** The same in version 1. */
export function offerV1Of(sandbox: Sandbox, change: Json = {}): Json {
  return entryV1({
    payTo: sandbox.merchant,
    extra: { feePayer: sandbox.feePayer },
    maxAmountRequired: '10000',
    ...change,
  });
}
