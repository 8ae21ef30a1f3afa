import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { base58 } from '@scure/base';
import { PublicKey } from '@solana/web3.js';
import { addressOf } from './wire.js';

// Addresses are the same in each run, so that each is derived only once. The seed decides the
// accounts at these addresses.

export const SYSTEM = '11111111111111111111111111111111';
export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const ASSOCIATED = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
export const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';
export const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
export const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';
export const EVENT_AUTHORITY = 'D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf';
/** Owns the vaults of each market. */
export const POOL_AUTHORITY = 'gZTbXyhkizGZRMhzDb9TQFZCUdgxWgkhfnuaHTjqmDn';
export const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
export const NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

export const SOL = 'So11111111111111111111111111111111111111112';
export const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
export const PYUSD = '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo';

const named = (name: string): string =>
  addressOf(createHash('sha256').update(`exact-change simulation: ${name}`).digest());

export const SELLERS: readonly string[] = ['0', '1', '2'].map((name) => named(`payee ${name}`));
export const FACILITATOR = named('facilitator');
export const STRANGER = named('stranger');
/** Owner of the accounts that the relayer's fees go to. */
export const RELAYER_PAYEE = named('relayer payee');
/** Mints of tokens that sellers made: worth nothing at any market price. */
export const OWN_MINTS: readonly string[] = Array.from({ length: 24 }, (_, index) =>
  named(`mint ${index}`),
);

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyOf = (name: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([
      PKCS8,
      createHash('sha256').update(`exact-change simulation: ${name}`).digest(),
    ]),
    format: 'der',
    type: 'pkcs8',
  });
const publicOf = (key: KeyObject): string =>
  base58.encode(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32));
const signWith =
  (key: KeyObject) =>
  (message: Uint8Array): Uint8Array =>
    new Uint8Array(sign(null, message, key));

const walletKey = keyOf('wallet');
const relayerKey = keyOf('relayer');
export const WALLET: string = publicOf(walletKey);
export const RELAYER: string = publicOf(relayerKey);
export const signAsWallet = signWith(walletKey);
export const signAsRelayer = signWith(relayerKey);

const derived = new Map<string, string>();

/** Returns the address of an owner's associated token account. */
export function accountOf(owner: string, mint: string, program: string): string {
  const name = `${owner} ${mint} ${program}`;
  let account = derived.get(name);
  if (account === undefined) {
    const seeds = [owner, program, mint].map((seed) => base58.decode(seed));
    account = PublicKey.findProgramAddressSync(seeds, new PublicKey(ASSOCIATED))[0].toBase58();
    derived.set(name, account);
  }
  return account;
}
