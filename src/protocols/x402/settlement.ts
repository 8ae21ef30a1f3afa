import { cleanText } from '../../errors.js';
import type { ReadOptions, SettlementClaim } from '../protocol.js';
import type { JsonObject, JsonValue, Settlement } from '../types.js';
import { decodeHeader, fieldsOf } from './json.js';
import { headerValue, type PaymentRequiredParts } from './parse.js';
import { rareTerms } from './read.js';

/** Base58 of 64 bytes. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
/**
 * The codes that decide an outcome (`payments/execute/outcomes.ts`). Facilitators may put a prefix
 * before the code.
 */
const DECISIVE = /(?:^|_)(settlement_pending|duplicate_settlement)$/;

/**
 * Reads what the seller claims about the settlement from `PAYMENT-RESPONSE` or
 * `X-PAYMENT-RESPONSE`; undefined if neither header can be read.
 */
export function readSettlement(headers: PaymentRequiredParts['headers']): Settlement | undefined {
  const settlement =
    decodedHeader(headers, 'payment-response') ?? decodedHeader(headers, 'x-payment-response');
  if (settlement === undefined) return undefined;
  const fields = fieldsOf(settlement);
  const transaction = text(fields['transaction']) ?? '';
  const payer = text(fields['payer']);
  const errorReason = reasonIn(fields['errorReason']);
  return Object.freeze({
    success: fields['success'] === true,
    transaction: SIGNATURE.test(transaction) ? transaction : '',
    network: text(fields['network']) ?? '',
    ...(payer === undefined ? {} : { payer }),
    ...(errorReason === undefined ? {} : { errorReason }),
  });
}

function decodedHeader(
  headers: PaymentRequiredParts['headers'],
  name: string,
): JsonObject | undefined {
  const value = headerValue(headers, name);
  return value === undefined ? undefined : decodeHeader(value);
}

function text(value: JsonValue | undefined): string | undefined {
  const cleaned = typeof value === 'string' ? cleanText(value) : '';
  return cleaned === '' ? undefined : cleaned;
}

/** Cleans a reason. Facilitators in Go write `_solana_` for the spec's `_svm_` (x402.md 1.8). */
export function reasonIn(reason: JsonValue | undefined): string | undefined {
  if (typeof reason !== 'string') return undefined;
  const shown = text(reason)?.replace(/_solana_/g, '_svm_');
  // Look for the code in the raw text, because `cleanText` hides secrets, and a secret may match a
  // part of the code.
  const code = DECISIVE.exec(reason.trim())?.[1];
  return code === undefined || shown?.endsWith(code) === true ? shown : code;
}

export async function readOutcome(
  response: Response,
  options: ReadOptions,
): Promise<SettlementClaim> {
  const { headers } = response;
  const settlement = readSettlement(headers);
  const hasTerms = headers.has('payment-required');
  if (response.status !== 402) return { settlement, hasTerms };
  const reason = reasonInHeaders(headers);
  if (reason !== undefined) return { settlement, reason, hasTerms };
  try {
    const { reasonInBody } = await rareTerms(options.signal, 'uncertain');
    const body = await reasonInBody(response, options);
    if (body.isKnown) return { settlement, reason: body.reason, hasTerms };
  } catch {
    // The body is only a hint: the chain decides about the payment.
  }
  // The unread body may say that the payment is pending, so terms must not count as a refusal.
  return { settlement, hasTerms: false };
}

/** Returns why the seller refused a payment, in its own words, cleaned, as its headers say. */
export function reasonInHeaders(headers: PaymentRequiredParts['headers']): string | undefined {
  return (
    reasonIn(fieldsOf(decodedHeader(headers, 'payment-required'))['error']) ??
    readSettlement(headers)?.errorReason
  );
}
