import { refuse } from '../internal/options.js';
import { isTokenProgram } from '../network.js';
import { MEMO_PROGRAM, SYSTEM_PROGRAM } from '../solana/programs.js';
import type { OfferReading } from '../protocols/protocol.js';
import type { Offer, PaymentRequired } from '../protocols/types.js';
import { associatedTokenAddress } from '../solana/tokens/accounts.js';
import { resolveInstructions } from '../solana/transactions/resolve.js';
import type { Instruction } from '../solana/types.js';
import { readableOffers } from './parse-payment.js';
import type { SignedBytes } from './read-swap.js';

/** A signed payment, read from its transaction, and the offer that it pays. */
export interface ReadPayment {
  readonly bytes: Uint8Array;
  readonly envelope: PaymentRequired;
  readonly reading: OfferReading & { readonly ok: true };
  /** The token account that pays, and the wallet that must sign the transfer. */
  readonly source: string | undefined;
  readonly authority: string | undefined;
  /** Signature of the wallet in base58. */
  readonly payerSignature: string;
  readonly blockhash: string;
  /** Text of the memo, if there is exactly one. */
  readonly memo: string | undefined;
  /** Whether the transaction has a durable nonce, so that it never expires. */
  readonly hasNonce: boolean;
}

/** Reads a signed payment. Throws `invalid_option` if it pays none of the offers. */
export function readPayment(
  terms: PaymentRequired,
  network: string,
  wallet: string,
  { bytes, decoded, signature }: SignedBytes,
): ReadPayment {
  const instructions = resolveInstructions(decoded, []) ?? [];
  const [feePayer] = decoded.staticAccounts;
  for (const { envelope, reading } of readableOffers(terms, network, wallet)) {
    const { offer } = reading;
    const transfer = feePayer === offer.feePayer ? transferFor(instructions, offer) : undefined;
    if (transfer === undefined) continue;
    return {
      ...{ bytes, envelope, reading },
      source: transfer.accounts[0]?.address,
      authority: transfer.accounts[3]?.address,
      payerSignature: signature,
      blockhash: decoded.blockhash,
      memo: memoOf(instructions),
      // A transaction uses a durable nonce if its first instruction advances the nonce.
      hasNonce: instructions[0]?.program === SYSTEM_PROGRAM,
    };
  }
  throw refuse('signedPayment', 'pays none of the offers.');
}

const TRANSFER_CHECKED = 12;

/** Returns the only transfer of a payment, if it pays the offer. */
function transferFor(
  instructions: readonly Instruction[],
  { payTo, mint, amount }: Offer,
): Instruction | undefined {
  // Any other program may accept the same bytes and move nothing.
  const transfers = instructions.filter(
    ({ program, data }) =>
      isTokenProgram(program) && data[0] === TRANSFER_CHECKED && data.length === 10,
  );
  const [transfer] = transfers;
  if (transfer === undefined || transfers.length !== 1) return undefined;
  const [, mintMeta, destination] = transfer.accounts;
  const paid = new DataView(transfer.data.buffer, transfer.data.byteOffset).getBigUint64(1, true);
  const isPayment =
    mintMeta?.address === mint &&
    destination?.address === associatedTokenAddress(payTo, mint, transfer.program) &&
    paid === amount;
  return isPayment ? transfer : undefined;
}

function memoOf(instructions: readonly Instruction[]): string | undefined {
  const memos = instructions.filter(({ program }) => program === MEMO_PROGRAM);
  const [memo] = memos;
  if (memo === undefined || memos.length !== 1) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(memo.data);
  } catch {
    return undefined;
  }
}
