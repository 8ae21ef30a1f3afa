import { sha256 } from '@noble/hashes/sha2';
import { hex } from '@scure/base';
import type { Offer } from '../x402/types.js';

/** The same for calls that would buy the same thing: method, URL, body, payee, mint and amount. The seller's `extra` changes with every 402. */
export function fingerprintOf(call: { readonly method: string; readonly url: string }, body: Uint8Array | undefined, offer: Offer): string {
  const parts = [call.method, call.url, hex.encode(sha256(body ?? new Uint8Array())), offer.payTo, offer.mint, offer.amount.toString()];
  return hex.encode(sha256(new TextEncoder().encode(JSON.stringify(parts))));
}
