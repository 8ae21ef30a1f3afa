import { isRecord } from '../../src/internal/record.js';

type Json = Readonly<Record<string, unknown>>;

/** The terms that a tool answered with, and how it takes the payment for them. */
export interface Asked {
  readonly terms: Json;
  /** Cloudflare's agents take it as it would stand in a header; the specification has an object. */
  readonly takes: 'object' | 'base64';
}

/** Codes of JSON-RPC errors that ask for payment. */
const PAYMENT_CODES: readonly unknown[] = [402, -32042];

/**
 * The terms in the result of a tool, in any of the forms that are in use; undefined if it asks for
 * no payment.
 */
export function askedInResult(result: unknown): Asked | undefined {
  if (!isRecord(result)) return undefined;
  const asked = termsOfType(result);
  if (asked !== undefined) return { terms: asked, takes: 'object' };
  if (result['isError'] !== true) return undefined;
  const { _meta: meta, structuredContent, content } = result;
  if (isRecord(meta) && isTerms(meta['x402/error']))
    return { terms: meta['x402/error'], takes: 'base64' };
  if (isTerms(structuredContent)) return { terms: structuredContent, takes: 'object' };
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text = isRecord(first) ? parsed(first['text']) : undefined;
  const early = isRecord(text) && isRecord(text['x402/error']) ? text['x402/error']['data'] : text;
  return isTerms(early) ? { terms: early, takes: 'object' } : undefined;
}

/** The terms in a result of the type that the extension `org.x402/payment` has for them. */
function termsOfType({ resultType, paymentRequired }: Json): Json | undefined {
  return resultType === 'payment_required' && isTerms(paymentRequired)
    ? paymentRequired
    : undefined;
}

/**
 * A message of JSON-RPC; one whose result is of that type as if its terms stood in the structured
 * content of a failure. The newer SDK refuses types that it does not know.
 */
export function withKnownType(message: unknown): unknown {
  const result = isRecord(message) ? message['result'] : undefined;
  const terms = isRecord(result) ? termsOfType(result) : undefined;
  if (!isRecord(message) || terms === undefined) return message;
  return { ...message, result: { content: [], isError: true, structuredContent: terms } };
}

/** The terms in an error of JSON-RPC. */
export function askedInError(error: unknown): Asked | undefined {
  if (!isRecord(error) || !PAYMENT_CODES.includes(error['code'])) return undefined;
  const { data } = error;
  const terms = isRecord(data) && isRecord(data['x402']) ? data['x402'] : data;
  return isTerms(terms) ? { terms, takes: 'object' } : undefined;
}

/** The seller's word on the settlement, in the result of a tool that was paid. */
export function settlementIn(result: unknown): Json | undefined {
  const meta = isRecord(result) ? result['_meta'] : undefined;
  const settlement = isRecord(meta) ? meta['x402/payment-response'] : undefined;
  return isRecord(settlement) ? settlement : undefined;
}

function isTerms(value: unknown): value is Json {
  return isRecord(value) && Array.isArray(value['accepts']) && 'x402Version' in value;
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
