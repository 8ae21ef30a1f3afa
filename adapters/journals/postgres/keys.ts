import { createHash, randomBytes } from 'node:crypto';
import type { Owner } from '../../../src/journal/types.js';

/**
 * Any text, also one that Postgres could not store or index, as something short. JSON tells half
 * surrogates apart, UTF-8 would not.
 */
export function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Advisory locks are named by 64 bits; this is their decimal text. */
export function lockKey(...parts: readonly string[]): string {
  return BigInt.asIntN(64, BigInt(`0x${digest('exact-change', ...parts).slice(0, 16)}`)).toString();
}

export function randomLockKey(): string {
  return randomBytes(8).readBigInt64BE().toString();
}

export function ownerParts({ wallet, network }: Owner): [string, string] {
  return [wallet, network];
}

/** What a lock of an owner is called among those of all. */
export function lockName(owner: Owner, name: string): string {
  return JSON.stringify([...ownerParts(owner), name]);
}
