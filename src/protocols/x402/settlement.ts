import { cleanText } from '../../errors.js';
import { untilAborted } from '../../internal/abort.js';
import type { ReadOptions, SellersWord } from '../protocol.js';
import type { JsonObject, JsonValue, Settlement } from '../types.js';
import { decodeHeader, fieldsOf } from './json.js';
import { headerValue, type PaymentRequiredParts } from './parse.js';
import { rareTerms } from './read.js';

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
  const said = fieldsOf(settlement);
  const transaction = text(said['transaction']) ?? '';
  const payer = text(said['payer']);
  const errorReason = reasonIn(said['errorReason']);
  return Object.freeze({
    success: said['success'] === true,
    transaction: SIGNATURE.test(transaction) ? transaction : '',
    network: text(said['network']) ?? '',
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

/** Facilitators in Go write `_solana_` where all others write `_svm_` (x402.md 1.8). */
export function reasonIn(said: JsonValue | undefined): string | undefined {
  if (typeof said !== 'string') return undefined;
  const shown = text(said)?.replace(/_solana_/g, '_svm_');
  // What decides is read as it came: a secret of ours, which is hidden, may be a part of it.
  const code = DECISIVE.exec(said.trim())?.[1];
  return code === undefined || shown?.endsWith(code) === true ? shown : code;
}

/** What the answer to a paid request says of its payment. */
export async function readOutcome(response: Response, options: ReadOptions): Promise<SellersWord> {
  const { headers } = response;
  const settlement = readSettlement(headers);
  const hasTerms = headers.has('payment-required');
  if (response.status !== 402) return { settlement, hasTerms };
  const reason = reasonInHeaders(headers);
  if (reason !== undefined) return { settlement, reason, hasTerms };
  try {
    const { reasonInBody } = await untilAborted(rareTerms('uncertain'), options.signal);
    const said = await reasonInBody(response, options);
    if (said.isKnown) return { settlement, reason: said.reason, hasTerms };
  } catch {
    // The chain has the last word all the same.
  }
  // It may say that the payment is pending: no terms make a refusal of it then.
  return { settlement, hasTerms: false };
}

/** Why the seller refused a payment, in its own words, cleaned, as far as its headers say. */
export function reasonInHeaders(headers: PaymentRequiredParts['headers']): string | undefined {
  return (
    reasonIn(fieldsOf(decodedHeader(headers, 'payment-required'))['error']) ??
    readSettlement(headers)?.errorReason
  );
}
