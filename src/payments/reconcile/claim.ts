import { base58 } from '../../internal/bytes.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { SignedPayment } from '../../journal/types.js';
import { protocolOfHeader, type PaymentProtocol } from '../../protocols/protocol.js';
import { verifySignature } from '../../solana/keys.js';
import { decodeTransaction, messageSigners } from '../../solana/transactions/transaction.js';

const SIGNATURE_BYTES = 64;
/** At most so many in base58. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** A transaction id that a seller claims, and whether it is that of the payment. */
export interface Claim {
  readonly id: string;
  isProven(): Promise<boolean>;
}

/**
 * The transaction id that the seller claims of this payment, unless it was seen to be another's.
 * It is proven if it is the fee payer's signature over the message that we signed. No node is asked
 * for that, and none has to be believed; whether the transaction landed is the chain's to say.
 */
export function claimOf(
  protocols: readonly PaymentProtocol[],
  open: OpenPayment,
): Claim | undefined {
  const { payment, receipt } = open.attempt;
  const id = receipt.settlement?.transaction;
  if (id === undefined || !SIGNATURE.test(id)) return undefined;
  const signature = base58.decode(id);
  // A node refuses all ids of a question for one that is none.
  if (signature.length !== SIGNATURE_BYTES) return undefined;
  if (open.claim?.id === id && !open.claim.isProven) return undefined;
  return {
    id,
    async isProven() {
      // Each look at the chain asks.
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

/** The message in a payment on record: what its header carries has to be what we signed. */
function messageIn(
  protocols: readonly PaymentProtocol[],
  { header, payerSignature }: SignedPayment,
): Uint8Array | undefined {
  const transaction = protocolOfHeader(protocols, header).transactionIn(header);
  const decoded = transaction === undefined ? undefined : decodeTransaction(transaction);
  return decoded?.signatures.some((one) => base58.encode(one) === payerSignature) === true
    ? decoded.message
    : undefined;
}
