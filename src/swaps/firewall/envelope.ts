import { parseBase64 } from '../../internal/parse.js';
import {
  decodeTransaction,
  type DecodedTransaction,
} from '../../solana/transactions/transaction.js';
import type { Address } from '../../solana/types.js';
import { type Rule, rulesOn } from './rule.js';

/** A foreign transaction before its lookup tables are read. */
export interface EnvelopeSubject {
  readonly decoded: DecodedTransaction | undefined;
  readonly wallet: Address;
}

/**
 * Length of the longest swap transaction that we compose: it tops up wrapped SOL, and creates the
 * output account at an address with lamports, which it withdraws.
 */
const MAX_INSTRUCTIONS = 14;

const onDecoded = rulesOn(({ decoded }: EnvelopeSubject) => decoded);

/** Rules on a foreign transaction that run before its instructions are read. */
export const envelopeRules: readonly Rule<EnvelopeSubject>[] = [
  onDecoded(
    'transaction_encoding',
    'it is not one v0 transaction in its one encoding',
    'Two decoders may read different transactions out of bytes that are sloppy; what is checked must be what is signed.',
    () => true,
  ),
  onDecoded(
    'transaction_fee_payer',
    'the transaction is made for another wallet',
    'The payer of the fee also signs, and what was checked for one wallet says nothing about another.',
    ({ staticAccounts }, { wallet }) => staticAccounts[0] === wallet,
  ),
  onDecoded(
    'transaction_signers',
    'the transaction wants the signature of another key than the wallet',
    'A second signer can hold the transaction back until the price suits that signer.',
    ({ header }) => header.numRequiredSignatures === 1 && header.numReadonlySigned === 0,
  ),
  onDecoded(
    'transaction_presigned',
    'the transaction arrived with a signature in it',
    'What has a signature already was made to be sent by another party, whatever we decide.',
    ({ signatures }) => signatures.every((signature) => signature.every((byte) => byte === 0)),
  ),
  onDecoded(
    'transaction_length',
    `the transaction has no instruction, or more than ${MAX_INSTRUCTIONS}`,
    'No swap needs that many; a crowd hides the one that steals.',
    ({ instructions }) => instructions.length >= 1 && instructions.length <= MAX_INSTRUCTIONS,
  ),
];

/** Length of the longest base64 text that {@link decodeTransaction} can accept. */
const MAX_TEXT = 1_644;

/**
 * Reads base64 or wire bytes. Returns undefined unless they are one v0 transaction in its canonical
 * encoding. Never throws.
 */
export function readTransaction(transaction: unknown): DecodedTransaction | undefined {
  const bytes =
    typeof transaction === 'string' && transaction.length <= MAX_TEXT
      ? parseBase64(transaction)
      : transaction;
  return bytes instanceof Uint8Array ? decodeTransaction(bytes) : undefined;
}
