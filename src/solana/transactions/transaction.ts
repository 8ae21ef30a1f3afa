import { base58 } from '../../internal/bytes.js';
import type { Address } from '../types.js';
import { MAX_TRANSACTION_BYTES, SIGNATURE_BYTES, tooLarge } from './compile.js';
import { decodeMessage, decodeWith } from './message.js';
import type { DecodedMessage } from './message.js';

/** A v0 transaction in plain data. `message` is what was signed. */
export interface DecodedTransaction extends DecodedMessage {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
}

/** Wire bytes of a message and its signatures; a signer without one gets 64 zero bytes. */
export function assembleTransaction(
  message: Uint8Array,
  signatures: ReadonlyMap<Address, Uint8Array>,
): Uint8Array {
  const signers = messageSigners(message);
  for (const [address, signature] of signatures) {
    if (!signers.includes(address))
      throw new TypeError('A signature of an address that is not asked to sign.');
    if (signature.length !== SIGNATURE_BYTES)
      throw new TypeError(`A signature is ${SIGNATURE_BYTES} bytes, not ${signature.length}.`);
  }
  // One byte holds the count: 19 signatures fill a packet.
  const wire = new Uint8Array(1 + SIGNATURE_BYTES * signers.length + message.length);
  if (wire.length > MAX_TRANSACTION_BYTES) throw tooLarge(wire.length);
  wire[0] = signers.length;
  signers.forEach((address, index) =>
    wire.set(
      signatures.get(address) ?? new Uint8Array(SIGNATURE_BYTES),
      1 + SIGNATURE_BYTES * index,
    ),
  );
  wire.set(message, 1 + SIGNATURE_BYTES * signers.length);
  return wire;
}

/**
 * Decodes wire bytes: version 0, at most 1,232 bytes, one encoding only, one signature for each
 * signer. Undefined otherwise; never throws.
 */
export function decodeTransaction(bytes: Uint8Array): DecodedTransaction | undefined {
  if (bytes.length > MAX_TRANSACTION_BYTES) return undefined;
  const parts = decodeWith(bytes, (cursor) => ({
    signatures: cursor.list(() => cursor.take(SIGNATURE_BYTES)),
    message: cursor.rest(),
  }));
  const decoded = parts === undefined ? undefined : decodeMessage(parts.message);
  if (parts === undefined || decoded === undefined) return undefined;
  return parts.signatures.length === decoded.header.numRequiredSignatures
    ? { ...parts, ...decoded }
    : undefined;
}

/** The transaction's id: base58 of the fee payer's signature. */
export function firstSignature(bytes: Uint8Array): string {
  const first = decodeTransaction(bytes)?.signatures[0];
  if (first === undefined) throw new TypeError('Not a v0 transaction.');
  return base58.encode(first);
}

/** The wallets that have to sign, fee payer first. */
export function messageSigners(message: Uint8Array): Address[] {
  const decoded = decodeMessage(message);
  if (decoded === undefined) throw new TypeError('Not a v0 message.');
  return decoded.staticAccounts.slice(0, decoded.header.numRequiredSignatures);
}
