import { refuse } from '../internal/options.js';
import { isRecord } from '../internal/record.js';
import { isAddress } from '../solana/address.js';
import { createKeySigner, createSeedSigner } from '../solana/keys.js';
import type { Signer } from '../solana/signer.js';
import type { ClientOptions } from './options.js';

/**
 * The wallet that pays, given in one of three ways. Throws `ConfigError` (`invalid_option`,
 * `invalid_key`).
 */
export function parseSigner({ walletSecretKey, walletSeed, signer }: ClientOptions): Signer {
  if (walletSeed !== undefined) {
    const other =
      signer === undefined
        ? walletSecretKey === undefined
          ? undefined
          : 'walletSecretKey'
        : 'signer';
    if (other !== undefined)
      throw refuse('walletSeed', `and ${other} exclude each other. Give one.`);
    return createSeedSigner(walletSeed);
  }
  if (signer !== undefined && walletSecretKey !== undefined)
    throw refuse('signer', 'and walletSecretKey exclude each other. Give one.');
  if (signer !== undefined) {
    if (!isRecord(signer) || !isAddress(signer.address) || typeof signer.signMessage !== 'function')
      throw refuse('signer', 'must have an address and a signMessage function.');
    return signer;
  }
  if (walletSecretKey === undefined || walletSecretKey === '')
    throw refuse('walletSecretKey', 'is missing. Give the wallet key, or a signer.');
  return createKeySigner(walletSecretKey);
}
