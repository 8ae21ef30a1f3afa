import { TransactionError } from '../../errors.js';
import { untilAborted } from '../../internal/abort.js';
import { verifySignature } from '../../solana/keys.js';
import type { Signer, SigningIntent } from '../../solana/signer.js';
import {
  assembleTransaction,
  firstSignature,
  messageSigners,
} from '../../solana/transactions/transaction.js';

/**
 * Has the wallet sign a message of ours and puts the wire bytes together. Throws `signing_failed`
 * if the signer refuses or signs something else, and `self_check_failed` if the message asks for
 * another wallet's signature.
 */
export async function signMessage(
  signer: Signer,
  message: Uint8Array,
  intent: SigningIntent,
  signal?: AbortSignal,
): Promise<{ bytes: Uint8Array; signature: string }> {
  const { address } = signer;
  const signers = messageSigners(message);
  if (signers.length !== 1 || signers[0] !== address) {
    const reason = 'the transaction would need another signature';
    throw new TransactionError('self_check_failed', `Nothing was signed: ${reason}. Report this.`, {
      details: { reason },
    });
  }
  let signature: Uint8Array;
  try {
    // A copy: what is verified and sent below stays ours. The caller may stop waiting before the
    // signer's own deadline.
    signature = await untilAborted(signer.signMessage(message.slice(), intent), signal);
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    throw new TransactionError(
      'signing_failed',
      `The signer of ${address} refused or failed to sign the swap, or did not answer in time. Nothing was sent; see cause.`,
      { details: { address }, cause },
    );
  }
  if (!verifySignature(message, signature, address)) {
    throw new TransactionError(
      'signing_failed',
      `The signature of the signer of ${address} does not fit the swap: it may have changed the message. Nothing was sent.`,
      { details: { address } },
    );
  }
  const bytes = assembleTransaction(message, new Map([[address, signature]]));
  return { bytes, signature: firstSignature(bytes) };
}
