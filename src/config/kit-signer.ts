import type { KitSigner } from '../solana/signer.js';
import {
  assembleTransaction,
  decodeTransaction,
  messageSigners,
  type DecodedTransaction,
} from '../solana/transactions/transaction.js';
import type { Address } from '../solana/types.js';

/**
 * Signs wire bytes by a signer of kit: by the method that may change the bytes, if the signer has
 * it. The result is empty if the signer gave nothing. The caller judges the result, as with any
 * foreign signer.
 */
export async function signByKit(
  signer: KitSigner,
  address: Address,
  wire: Uint8Array,
): Promise<Uint8Array> {
  const decoded = decodeTransaction(wire);
  if (decoded === undefined) throw new TypeError('Not a v0 transaction.');
  const { messageBytes, signature } = await signMessage(signer, address, decoded);
  if (messageBytes === undefined || signature === undefined || signature === null)
    return new Uint8Array();
  return assembleTransaction(
    Uint8Array.from(messageBytes),
    new Map([[address, Uint8Array.from(signature)]]),
  );
}

interface Signed {
  readonly messageBytes?: ArrayLike<number> | undefined;
  readonly signature?: ArrayLike<number> | null | undefined;
}

async function signMessage(
  signer: KitSigner,
  address: Address,
  { message: messageBytes, signatures: given }: DecodedTransaction,
): Promise<Signed> {
  // A wallet leaves a transaction as it is if a relayer has signed it. On the wire, a missing
  // signature is zeros.
  const slots = messageSigners(messageBytes).map((required, index) => {
    const signature = given[index];
    return [required, signature?.some((byte) => byte !== 0) ? signature : null] as const;
  });
  const transaction = { messageBytes, signatures: Object.fromEntries(slots) };
  if ('modifyAndSignTransactions' in signer) {
    const [signed] = await signer.modifyAndSignTransactions([transaction]);
    return { messageBytes: signed?.messageBytes, signature: signed?.signatures[address] };
  }
  const [signatures] =
    'signTransactions' in signer
      ? await signer.signTransactions([transaction])
      : await signer.signMessages([{ content: messageBytes, signatures: {} }]);
  return { messageBytes, signature: signatures?.[address] };
}
