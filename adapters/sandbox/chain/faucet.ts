import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { address } from '@solana/kit';
import type { Address } from '@solana/kit';
import { addressOf, fromBase58, keyBytes, view } from './bytes.js';
import { parseTransaction } from './wire.js';
import type { WireTransaction } from './wire.js';

const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
// PKCS#8 of an Ed25519 key, up to its 32 secret bytes.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_KEY_BYTES = 32;

// Its key is no secret: there is nothing to win with it outside a sandbox.
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
 * A signed transfer from the faucet. `count` goes into a memo: equal airdrops on one blockhash are
 * two transactions.
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
