import { base58 } from '../../internal/bytes.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { SignedPayment } from '../../journal/types.js';
import { protocolOfHeader, type PaymentProtocol } from '../../protocols/protocol.js';
import { verifySignature } from '../../solana/keys.js';
import { decodeTransaction, messageSigners } from '../../solana/transactions/transaction.js';

const SIGNATURE_BYTES = 64;
/** 64 bytes are 64 to 88 characters in base58. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

export interface ClaimedId {
  readonly id: string;
  isProven(): Promise<boolean>;
}

/**
 * Returns the transaction id that the seller claims for this payment. Undefined if an earlier check
 * has shown that the id belongs to a different transaction.
 *
 * The id is proven if it is the fee payer's signature over the message that the wallet signed. This
 * check needs no node. Only the chain can say whether the transaction landed.
 */
export function claimedIdOf(
  protocols: readonly PaymentProtocol[],
  open: OpenPayment,
): ClaimedId | undefined {
  const { payment, receipt } = open.attempt;
  const id = receipt.settlement?.transaction;
  if (id === undefined || !SIGNATURE.test(id)) return undefined;
  const signature = base58.decode(id);
  // A node refuses a whole batch of ids if a single id is malformed.
  if (signature.length !== SIGNATURE_BYTES) return undefined;
  if (open.claim?.id === id && !open.claim.isProven) return undefined;
  return {
    id,
    async isProven() {
      // Keep the result, because each look at the chain asks for it.
      if (open.claim?.id === id) return open.claim.isProven;
      const message = open.message ?? messageIn(protocols, payment);
      const [feePayer] = message === undefined ? [] : messageSigners(message);
      const isProven =
        message !== undefined &&
        feePayer !== undefined &&
        (await verifySignature(message, signature, feePayer));
      open.claim = { id, isProven };
      return isProven;
    },
  };
}

/**
 * Returns the transaction message from a recorded payment's header. Undefined unless the header
 * carries the wallet's own signature.
 */
function messageIn(
  protocols: readonly PaymentProtocol[],
  { header, payerSignature }: SignedPayment,
): Uint8Array | undefined {
  const transaction = protocolOfHeader(protocols, header).transactionIn(header);
  const decoded = transaction === undefined ? undefined : decodeTransaction(transaction);
  return decoded?.signatures.some((bytes) => base58.encode(bytes) === payerSignature) === true
    ? decoded.message
    : undefined;
}
