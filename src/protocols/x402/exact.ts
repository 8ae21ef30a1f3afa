import { hex } from '../../internal/bytes.js';
import { TransactionError } from '../../errors.js';
import { compileMessage } from '../../solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../solana/transactions/instructions.js';
import { carriesNonce, type BuiltPayment, type PaymentFacts } from '../protocol.js';

/** A limit that hosted facilitators take without question (x402.md 2.4). */
const COMPUTE_UNITS = 20_000;
const NONCE_BYTES = 16;
/** The lowest limit on the price that a known facilitator sets (x402.md 2.4). */
const MAX_PRICE = 1_000_000n;

/**
 * Builds the one transaction layout that every known facilitator takes: limit, price,
 * TransferChecked, and a memo. The memo is the seller's memo, or else the nonce.
 *
 * Legacy facilitators of v1 allow three instructions, so their payments get only a seller's memo.
 * Without the nonce as memo, the price makes the payment unique.
 */
export function buildExactPayment(payment: PaymentFacts): BuiltPayment {
  const { offer, payer, source, destination, tokenProgram, decimals, blockhash } = payment;
  const isUniqueByMemo = carriesNonce(offer);
  const text = isUniqueByMemo ? hex.encode(payment.nonce) : offer.memo;
  const instructions = [
    computeUnitLimit(COMPUTE_UNITS),
    computeUnitPrice(isUniqueByMemo ? 1n : checkedPrice(payment.price)),
    transferChecked({
      source,
      mint: offer.mint,
      destination,
      authority: payer,
      amount: offer.amount,
      decimals,
      tokenProgram,
    }),
    ...(text === undefined ? [] : [memo(text)]),
  ];
  const message = compileMessage({ feePayer: offer.feePayer, instructions, blockhash });
  return { message, ...(text === undefined ? {} : { memo: text }) };
}

// Two signatures; version and header; seven accounts; the blockhash; no lookup tables; limit,
// price and transfer.
const LEAST_BYTES = 1 + 2 * 64 + 4 + (1 + 7 * 32) + 32 + 1 + 8 + 12 + 17 + 1;

export function exactPaymentBytes({ memo: text, takesMemo }: PaymentFacts['offer']): number {
  if (text === undefined && !takesMemo) return LEAST_BYTES;
  const length = text === undefined ? 2 * NONCE_BYTES : new TextEncoder().encode(text).length;
  // A memo adds an account, the memo program, and an instruction without accounts.
  return LEAST_BYTES + 32 + 2 + (length < 0x80 ? 1 : 2) + length;
}

function checkedPrice(price: bigint): bigint {
  if (price >= 1n && price <= MAX_PRICE) return price;
  throw new TransactionError(
    'self_check_failed',
    `A compute unit price of ${price} is outside 1 to ${MAX_PRICE}, what facilitators take. Nothing was signed; try again with a new blockhash.`,
    { details: { reason: 'compute unit price out of range' }, retry: 'fresh' },
  );
}
