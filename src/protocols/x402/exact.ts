import { hex } from '@scure/base';
import { TransactionError } from '../../errors.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../solana/transactions/instructions.js';
import { compileMessage } from '../../solana/transactions/transaction.js';
import type { BuiltPayment, PaymentFacts } from '../protocol.js';

/** What hosted facilitators take without question (x402.md 2.4). */
const COMPUTE_UNITS = 20_000;
/** The lowest cap that any facilitator is known to set (x402.md 2.4). */
const MAX_PRICE = 1_000_000n;

/**
 * Builds the one transaction layout that every known facilitator takes: limit, price,
 * TransferChecked and our nonce as the memo. A seller's own memo takes the nonce's place. Legacy
 * facilitators of v1 allow three instructions: they get no memo without one of the seller, and the
 * price makes the payment unique.
 */
export function buildExactPayment(payment: PaymentFacts): BuiltPayment {
  const { offer, payer, source, destination, tokenProgram, decimals, blockhash } = payment;
  const isUniqueByMemo = offer.memo === undefined && offer.takesMemo;
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

function checkedPrice(price: bigint): bigint {
  if (price >= 1n && price <= MAX_PRICE) return price;
  throw new TransactionError(
    'self_check_failed',
    `A compute unit price of ${price} is outside 1 to ${MAX_PRICE}, what facilitators take. Nothing was signed; try again with a new blockhash.`,
    { details: { reason: 'compute unit price out of range' }, retry: 'fresh' },
  );
}
