import type { KitSigner } from '../solana/signer.js';
import {
  assembleTransaction,
  decodeTransaction,
  messageSigners,
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
  const { message } = decodeTransaction(wire) ?? {};
  if (message === undefined) throw new TypeError('Not a v0 transaction.');
  const { messageBytes, signature } = await signMessage(signer, address, message);
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
  messageBytes: Uint8Array,
): Promise<Signed> {
  const unsigned = messageSigners(messageBytes).map((required) => [required, null] as const);
  const transaction = { messageBytes, signatures: Object.fromEntries(unsigned) };
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
