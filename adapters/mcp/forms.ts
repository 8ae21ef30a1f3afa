import { isRecord } from '../../src/internal/record.js';
import { parseJson } from '../../src/internal/parse.js';

type Json = Readonly<Record<string, unknown>>;

/** The terms that a tool answered with, and the form in which it takes the payment. */
export interface PaymentTerms {
  readonly terms: Json;
  /** Cloudflare's agents take the payment as a header has it; the specification has an object. */
  readonly takes: 'object' | 'base64';
}

/** Codes of JSON-RPC errors that ask for payment. */
const PAYMENT_CODES: readonly unknown[] = [402, -32042];

/**
 * Finds the terms in the result of a tool, in any of the forms that are in use. Returns undefined
 * if the tool asks for no payment.
 */
export function termsInResult(result: unknown): PaymentTerms | undefined {
  if (!isRecord(result)) return undefined;
  const typed = termsOfType(result);
  if (typed !== undefined) return { terms: typed, takes: 'object' };
  if (result['isError'] !== true) return undefined;
  const { _meta: meta, structuredContent, content } = result;
  if (isRecord(meta) && isTerms(meta['x402/error']))
    return { terms: meta['x402/error'], takes: 'base64' };
  if (isTerms(structuredContent)) return { terms: structuredContent, takes: 'object' };
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const json = isRecord(first) ? parseText(first['text']) : undefined;
  const terms = isRecord(json) && isRecord(json['x402/error']) ? json['x402/error']['data'] : json;
  return isTerms(terms) ? { terms, takes: 'object' } : undefined;
}

/** Returns the terms in a result of the type that the extension `org.x402/payment` defines. */
function termsOfType({ resultType, paymentRequired }: Json): Json | undefined {
  return resultType === 'payment_required' && isTerms(paymentRequired)
    ? paymentRequired
    : undefined;
}

/**
 * Rewrites a JSON-RPC message with a result of the type `payment_required`: the newer SDK refuses
 * types that it does not know. The terms move into the structured content of a failure. Any other
 * message stays as it is.
 */
export function withKnownType(message: unknown): unknown {
  const result = isRecord(message) ? message['result'] : undefined;
  const terms = isRecord(result) ? termsOfType(result) : undefined;
  if (!isRecord(message) || terms === undefined) return message;
  return { ...message, result: { content: [], isError: true, structuredContent: terms } };
}

/** Finds the terms in an error of JSON-RPC. */
export function termsInError(error: unknown): PaymentTerms | undefined {
  if (!isRecord(error) || !PAYMENT_CODES.includes(error['code'])) return undefined;
  const { data } = error;
  const terms = isRecord(data) && isRecord(data['x402']) ? data['x402'] : data;
  return isTerms(terms) ? { terms, takes: 'object' } : undefined;
}

/** Returns the seller's word on the settlement from the result of a paid tool. */
export function settlementIn(result: unknown): Json | undefined {
  const meta = isRecord(result) ? result['_meta'] : undefined;
  const settlement = isRecord(meta) ? meta['x402/payment-response'] : undefined;
  return isRecord(settlement) ? settlement : undefined;
}

function isTerms(value: unknown): value is Json {
  return isRecord(value) && Array.isArray(value['accepts']) && 'x402Version' in value;
}

function parseText(text: unknown): unknown {
  return typeof text === 'string' ? parseJson(text) : undefined;
}
