import { TransactionError } from '../../errors.js';
import { base58, isSameList } from '../../internal/bytes.js';
import { askSigner } from '../../solana/ask-signer.js';
import type { Signer, SigningIntent } from '../../solana/signer.js';
import { selfCheckFailed } from '../../solana/transactions/instructions.js';
import {
  assembleTransaction,
  firstSignature,
  messageSigners,
} from '../../solana/transactions/transaction.js';
import type { Address } from '../../solana/types.js';

const NO_SIGNATURES: ReadonlyMap<Address, Uint8Array> = new Map();

/**
 * Has the wallet sign a message of ours and assembles the wire bytes. Throws `signing_failed` if the
 * signer refuses or signs another message. Throws `self_check_failed` if the message needs another
 * signature that is not among `existing`.
 *
 * @param existing - Signatures that the message already has; with them, the wallet may not change
 *   the message.
 */
export async function signMessage(
  signer: Signer,
  message: Uint8Array,
  intent: SigningIntent,
  signal?: AbortSignal,
  existing = NO_SIGNATURES,
): Promise<{ bytes: Uint8Array; signature: string; payerSignature: string }> {
  const { address } = signer;
  const missing = messageSigners(message).filter((required) => !existing.has(required));
  if (missing.length !== 1 || missing[0] !== address)
    throw selfCheckFailed('the transaction would need another signature');
  const signed = await askSigner(signer, message, intent, signal, existing);
  if (existing.size > 0 && !isSameList(signed.message, message))
    throw new TransactionError(
      'signing_failed',
      `The wallet ${address} changed the swap that a relayer has signed already, which voids that signature. Nothing was sent. Use another wallet, or send this one SOL.`,
      { details: { address } },
    );
  const bytes = assembleTransaction(
    signed.message,
    new Map([...existing, [address, signed.signature]]),
  );
  const payerSignature = base58.encode(signed.signature);
  return { bytes, signature: firstSignature(bytes), payerSignature };
}
