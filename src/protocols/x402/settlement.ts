import { cleanText } from '../../errors.js';
import type { JsonObject, Settlement } from '../types.js';
import { decodeHeader } from './header.js';
import { field } from './json.js';
import { bodyObject, headerValue } from './parse.js';
import type { PaymentRequiredParts } from './parse.js';

/** Base58 of 64 bytes. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
/**
 * The codes that say more than "refused", at the end of what facilitators put before them
 * (`payments/execute/outcomes.ts`).
 */
const DECISIVE = /(?:^|_)(settlement_pending|duplicate_settlement)$/;

/**
 * Reads the seller's word on the settlement, `PAYMENT-RESPONSE` or `X-PAYMENT-RESPONSE`; undefined
 * if there is none to read.
 */
export function readSettlement(headers: PaymentRequiredParts['headers']): Settlement | undefined {
  const settlement =
    decodedHeader(headers, 'payment-response') ?? decodedHeader(headers, 'x-payment-response');
  if (settlement === undefined) return undefined;
  const transaction = text(settlement, 'transaction') ?? '';
  const payer = text(settlement, 'payer');
  const errorReason = reason(settlement, 'errorReason');
  return Object.freeze({
    success: field(settlement, 'success') === true,
    transaction: SIGNATURE.test(transaction) ? transaction : '',
    network: text(settlement, 'network') ?? '',
    ...(payer === undefined ? {} : { payer }),
    ...(errorReason === undefined ? {} : { errorReason }),
  });
}

/**
 * Why the seller refused a payment, in its own words, cleaned: from `PAYMENT-REQUIRED`, the
 * settlement header, or the body. Undefined if it does not say.
 */
export function rejectionReason({
  headers,
  body,
}: Pick<PaymentRequiredParts, 'headers' | 'body'>): string | undefined {
  return (
    reason(decodedHeader(headers, 'payment-required'), 'error') ??
    readSettlement(headers)?.errorReason ??
    reason(bodyObject(body), 'error')
  );
}

function decodedHeader(
  headers: PaymentRequiredParts['headers'],
  name: string,
): JsonObject | undefined {
  const value = headerValue(headers, name);
  return value === undefined ? undefined : decodeHeader(value);
}

function text(object: JsonObject, key: string): string | undefined {
  const value = field(object, key);
  const cleaned = typeof value === 'string' ? cleanText(value) : '';
  return cleaned === '' ? undefined : cleaned;
}

/** Facilitators in Go write `_solana_` where all others write `_svm_` (x402.md 1.8). */
function reason(object: JsonObject | undefined, key: string): string | undefined {
  const said = object === undefined ? undefined : field(object, key);
  if (object === undefined || typeof said !== 'string') return undefined;
  const shown = text(object, key)?.replace(/_solana_/g, '_svm_');
  // What decides is read as it came: a secret of ours, which is hidden, may be a part of it.
  const code = DECISIVE.exec(said.trim())?.[1];
  return code === undefined || shown?.endsWith(code) === true ? shown : code;
}
