import { getBase58Decoder, getCompiledTransactionMessageDecoder } from '@solana/kit';

/** A transaction that was found in traffic. */
export interface FoundTransaction {
  /** Signatures in base58; empty slots, which hold zeros, are left out. */
  readonly signatures: readonly string[];
}

const SIGNATURE_BYTES = 64;
// A transaction has at least a signature and a short message.
const BASE64 = /[A-Za-z0-9+/_-]{120,}={0,2}/g;
/** Layers of encoding to search: a payment header is base64 of JSON that contains base64. */
const LAYERS = 3;

/**
 * Finds every transaction in base64 or base64url, also within further layers of base64 or percent
 * encoding.
 */
export function transactionsIn(traffic: string, layers = LAYERS): FoundTransaction[] {
  return [...new Set([traffic, unescaped(traffic)])].flatMap((text) =>
    [...text.matchAll(BASE64)].flatMap(([run]) => {
      const bytes = Buffer.from(run, 'base64');
      const found = transactionOf(bytes);
      if (found !== undefined) return [found];
      return layers > 1 ? transactionsIn(bytes.toString('latin1'), layers - 1) : [];
    }),
  );
}

/** Returns the signatures of all transactions in traffic, of any signer. */
export function signaturesIn(traffic: string): string[] {
  return [...new Set(transactionsIn(traffic).flatMap(({ signatures }) => signatures))];
}

function transactionOf(bytes: Uint8Array): FoundTransaction | undefined {
  const [count = 0] = bytes;
  const messageAt = 1 + count * SIGNATURE_BYTES;
  if (count < 1 || count > 12 || bytes.length <= messageAt) return undefined;
  try {
    const { header } = getCompiledTransactionMessageDecoder().decode(bytes.subarray(messageAt));
    if (header.numSignerAccounts !== count) return undefined;
  } catch {
    return undefined;
  }
  const slots = Array.from({ length: count }, (_, index) =>
    bytes.subarray(1 + index * SIGNATURE_BYTES, 1 + (index + 1) * SIGNATURE_BYTES),
  );
  return {
    signatures: slots
      .filter((slot) => slot.some((byte) => byte !== 0))
      .map((slot) => getBase58Decoder().decode(slot)),
  };
}

function unescaped(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
}
