import type {
  KitMessageSigner,
  KitModifyingSigner,
  KitTransaction,
  KitTransactionSigner,
} from '../solana/signer.js';
import {
  assembleTransaction,
  decodeTransaction,
  messageSigners,
} from '../solana/transactions/transaction.js';
import type { Address } from '../solana/types.js';

/** The signature of a message, as a signer of kit gives it; empty if it gives none. */
export async function signatureByKit(
  signer: KitMessageSigner | KitTransactionSigner,
  address: Address,
  message: Uint8Array,
): Promise<Uint8Array> {
  const [signatures] =
    'signTransactions' in signer
      ? await signer.signTransactions([transactionOf(message)])
      : await signer.signMessages([{ content: message, signatures: {} }]);
  return signatures?.[address] ?? new Uint8Array();
}

/** What a signer of kit makes of wire bytes; empty if it makes nothing. */
export async function transactionByKit(
  signer: KitModifyingSigner,
  address: Address,
  wire: Uint8Array,
): Promise<Uint8Array> {
  const { message } = decodeTransaction(wire) ?? {};
  if (message === undefined) throw new TypeError('Not a v0 transaction.');
  const [signed] = await signer.modifyAndSignTransactions([transactionOf(message)]);
  const signature = signed?.signatures[address] ?? undefined;
  if (signed === undefined || signature === undefined) return new Uint8Array();
  const made = Uint8Array.from(signed.messageBytes);
  return assembleTransaction(made, new Map([[address, Uint8Array.from(signature)]]));
}

function transactionOf(message: Uint8Array): KitTransaction {
  const unsigned = messageSigners(message).map((address) => [address, null] as const);
  return { messageBytes: message, signatures: Object.fromEntries(unsigned) };
}
