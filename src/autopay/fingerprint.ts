import { sha256 } from '@noble/hashes/sha2';
import { hex } from '@scure/base';

/**
 * The same for equal requests: method, URL and body. The seller's terms are not in it: whoever could change them between two 402s, by one
 * unit of price or another payee, could have one request paid twice.
 */
export function fingerprintOf({ method, url }: { readonly method: string; readonly url: string }, body: Uint8Array | undefined): string {
  const parts = [method, url, hex.encode(sha256(body ?? new Uint8Array()))];
  return hex.encode(sha256(new TextEncoder().encode(JSON.stringify(parts))));
}
