import { createHash, randomBytes } from 'node:crypto';
import type { Owner } from '../../../src/journal/types.js';

/**
 * Returns a short hash of any texts, also of texts that Postgres cannot store or index. JSON comes
 * first, because UTF-8 would encode all half surrogates alike.
 */
export function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Returns the key of an advisory lock: 64 bits, as decimal text. */
export function lockKey(...parts: readonly string[]): string {
  return BigInt.asIntN(64, BigInt(`0x${digest('exact-change', ...parts).slice(0, 16)}`)).toString();
}

export function randomLockKey(): string {
  return randomBytes(8).readBigInt64BE().toString();
}

export function ownerParts({ wallet, network }: Owner): [string, string] {
  return [wallet, network];
}
