import type { Address } from '@solana/kit';
import type { WireTransaction } from './wire.js';

const MEMO_PROGRAMS: ReadonlySet<string> = new Set([
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
]);

/**
 * Returns a transaction's memos as in `getSignaturesForAddress`: `[length] text`, joined by `; `;
 * null if there is no memo.
 */
export function memosOf(transaction: WireTransaction, keys: readonly Address[]): string | null {
  const memos = transaction.instructions
    .filter(({ programIndex }) => MEMO_PROGRAMS.has(keys[programIndex] ?? ''))
    .map(({ data }) => `[${data.length}] ${decode(data)}`);
  return memos.length === 0 ? null : memos.join('; ');
}

function decode(data: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return '(unparseable)';
  }
}
