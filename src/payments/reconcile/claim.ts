import { base58 } from '../../internal/bytes.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { SignedPayment } from '../../journal/types.js';
import { protocolOfHeader, type PaymentProtocol } from '../../protocols/protocol.js';
import { verifySignature } from '../../solana/keys.js';
import { decodeTransaction, messageSigners } from '../../solana/transactions/transaction.js';

/** 64 bytes. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/**
 * The transaction id that the seller claims, if it is that of this payment: the id is the fee
 * payer's signature, here seen to be over the message that we signed. No node is asked, and none
 * has to be believed in this; whether the transaction landed is the chain's to say.
 */
export async function provenClaim(
  protocols: readonly PaymentProtocol[],
  open: OpenPayment,
): Promise<string | undefined> {
  const { payment, receipt } = open.attempt;
  const id = receipt.settlement?.transaction;
  if (id === undefined || !SIGNATURE.test(id)) return undefined;
  // Each look at the chain asks.
  if (open.claim?.id !== id) {
    const message = open.message ?? messageIn(protocols, payment);
    const [feePayer] = message === undefined ? [] : messageSigners(message);
    const isProven =
      message !== undefined &&
      feePayer !== undefined &&
      (await verifySignature(message, base58.decode(id), feePayer));
    open.claim = { id, isProven };
  }
  return open.claim.isProven ? id : undefined;
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
