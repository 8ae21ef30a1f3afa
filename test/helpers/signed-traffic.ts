import { getBase58Decoder, getCompiledTransactionMessageDecoder } from '@solana/kit';

/** A transaction that was found in traffic. */
export interface FoundTransaction {
  /** Base58, of the signatures that are there: an unsigned transaction has zeros in their place. */
  readonly signatures: readonly string[];
}

const SIGNATURE_BYTES = 64;
// The shortest transaction has one signature and some message.
const BASE64 = /[A-Za-z0-9+/_-]{120,}={0,2}/g;
/** A payment header is base64 of JSON with base64 in it. */
const LAYERS = 3;

/**
 * Every transaction in base64 of either alphabet, however often it is wrapped in base64 or in
 * percent signs.
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

/** The signatures in traffic, of whatever signer. */
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
