import { sha256 } from '../../internal/sha2.js';
import { hex } from '../../internal/hex.js';

const NONCE_BYTES = 16;
const RANDOM_BYTES = 8;

/** What a payment is for: a place, and the key that makes it one purchase there. */
export interface Purpose {
  readonly url: string;
  readonly idempotencyKey?: string | undefined;
}

/**
 * 16 bytes that tell a payment from every other. Those of a purchase with a key commit to it and to
 * its place: they end in a hash of both and of the random bytes before. Without a key they are
 * random: any reader of the chain could look up on chain which of some places a hash without a
 * secret was made for.
 */
export function nonceFor(
  { url, idempotencyKey }: Purpose,
  randomBytes: (length: number) => Uint8Array,
): Uint8Array {
  if (idempotencyKey === undefined) return randomBytes(NONCE_BYTES);
  const random = randomBytes(RANDOM_BYTES);
  return Uint8Array.of(...random, ...commitment(random, url, idempotencyKey));
}

/**
 * Whether a memo may belong to a purchase: one that looks like a nonce of ours has to commit to its
 * place and key; of others nothing is known.
 */
export function mayBeFor(memo: string | undefined, { url, idempotencyKey }: Purpose): boolean {
  if (memo === undefined || idempotencyKey === undefined || !isNonce(memo)) return true;
  const nonce = hex.decode(memo);
  return (
    hex.encode(nonce.subarray(RANDOM_BYTES)) ===
    hex.encode(commitment(nonce.subarray(0, RANDOM_BYTES), url, idempotencyKey))
  );
}

function isNonce(memo: string): boolean {
  return /^[0-9a-f]{32}$/.test(memo);
}

/** JSON tells where one text ends and the next begins. A fragment is never sent. */
function commitment(random: Uint8Array, url: string, idempotencyKey: string): Uint8Array {
  const text = JSON.stringify([url.replace(/#.*/s, ''), idempotencyKey]);
  const bytes = Uint8Array.of(...random, ...new TextEncoder().encode(text));
  return sha256(bytes).subarray(0, NONCE_BYTES - RANDOM_BYTES);
}
