import { TransactionError } from '../../errors.js';
import { askSigner } from '../../solana/ask-signer.js';
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
  const signed = await askSigner(signer, message, intent, signal);
  const bytes = assembleTransaction(signed.message, new Map([[address, signed.signature]]));
  return { bytes, signature: firstSignature(bytes) };
}
