import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { address } from '@solana/kit';
import type { Address } from '@solana/kit';
import { addressOf, fromBase58, keyBytes, view } from './bytes.js';
import { parseTransaction } from './wire.js';
import type { WireTransaction } from './wire.js';

const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
// Bytes of a PKCS #8 Ed25519 key before its 32 secret bytes.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_KEY_BYTES = 32;

// The faucet's key is public, because it is worth nothing outside of a sandbox.
const key = createPrivateKey({
  key: Buffer.concat([
    PKCS8_PREFIX,
    createHash('sha256').update('the faucet of the sandbox').digest(),
  ]),
  format: 'der',
  type: 'pkcs8',
});

/** The account behind `requestAirdrop`. */
export const FAUCET: Address = addressOf(
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-PUBLIC_KEY_BYTES),
);

/**
 * Makes a signed transfer from the faucet. A memo contains `count`, so that equal airdrops with the
 * same blockhash are different transactions.
 */
export function airdropTransaction(
  to: Address,
  lamports: bigint,
  blockhash: string,
  count: number,
): WireTransaction {
  const transfer = new Uint8Array(12);
  view(transfer).setUint32(0, 2, true);
  view(transfer).setBigUint64(4, lamports, true);
  const memo = new TextEncoder().encode(`airdrop ${count}`);
  const keys = [FAUCET, to, SYSTEM_PROGRAM, MEMO_PROGRAM];
  const message = Uint8Array.from([
    ...[1, 0, 2],
    ...[keys.length, ...keys.flatMap((entry) => [...keyBytes(entry)])],
    ...(fromBase58(blockhash) ?? []),
    2,
    ...[2, 2, 0, 1, transfer.length, ...transfer],
    ...[3, 0, memo.length, ...memo],
  ]);
  return parseTransaction(Uint8Array.from([1, ...sign(null, message, key), ...message]));
}
