import { sha256 } from '../../internal/sha2.js';
import { hex } from '../../internal/hex.js';

/** What a request is told by. */
export interface RequestFacts {
  readonly method: string;
  /** As the caller gave it: where redirects lead may change from call to call. */
  readonly url: string;
  readonly headers: Headers;
}

/**
 * The same for equal requests: method, URL and body. The seller's terms are not in it: a seller
 * that could change them between two 402s, by one unit of price or another payee, could have one
 * request paid twice. Nor is a form's boundary, which is drawn anew for each call.
 */
export function fingerprintOf(
  { method, url, headers }: RequestFacts,
  body: Uint8Array | undefined,
): string {
  const boundary = /^multipart\/[^;]+;.*?boundary="?([^";]{1,200})/i.exec(
    headers.get('content-type') ?? '',
  )?.[1];
  const content =
    body === undefined ? new Uint8Array() : boundary === undefined ? body : without(body, boundary);
  const parts = [method, url.replace(/#.*/s, ''), hex.encode(sha256(content))];
  return hex.encode(sha256(new TextEncoder().encode(JSON.stringify(parts))));
}

/** One character for each byte and back, so that text can be taken out of any bytes. */
function without(body: Uint8Array, text: string): Uint8Array {
  const characters = new TextDecoder('latin1').decode(body);
  return new TextEncoder().encode(characters.split(text).join(''));
}
