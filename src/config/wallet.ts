import { isObject } from '../internal/record.js';
import { refuse } from '../internal/options.js';
import { isAddress } from '../solana/address.js';
import { createKeySigner, createSeedSigner, hasMethod, wrapSigner } from '../solana/keys.js';
import type { Signer } from '../solana/signer.js';
import type { ClientOptions } from './options.js';
import { lazyPart } from '../internal/load-once.js';

const kitSigner = /* @__PURE__ */ lazyPart(() => import('./kit-signer.js'));

/**
 * Returns the signer of the paying wallet, which the options give in one of three ways. Throws
 * `ConfigError` (`invalid_option`, `invalid_key`).
 */
export function parseSigner(options: ClientOptions): Signer {
  const { walletSeed, signer, walletSecretKey } = options;
  const [first, second] = (['walletSeed', 'signer', 'walletSecretKey'] as const).filter(
    (name) => options[name] !== undefined,
  );
  if (first !== undefined && second !== undefined)
    throw refuse(first, `excludes ${second}. Give one.`);
  if (walletSeed !== undefined) return createSeedSigner(walletSeed);
  if (signer !== undefined) return readSigner(signer);
  if (walletSecretKey === undefined || walletSecretKey === '')
    throw refuse('walletSecretKey', 'is missing. Give the wallet key, or a signer.');
  return createKeySigner(walletSecretKey);
}

function readSigner(signer: NonNullable<ClientOptions['signer']>): Signer {
  const value: unknown = signer;
  if (isObject(value)) {
    if ('secretKey' in signer) return createKeySigner(signer.secretKey);
    const { address } = signer;
    if (isAddress(address)) {
      // Keep the address: a wallet app may change it with its account, and caps are by wallet.
      if (hasMethod(signer, 'signTransaction') || hasMethod(signer, 'signMessage'))
        return wrapSigner(signer, (ask) => ask());
      if (
        hasMethod(signer, 'modifyAndSignTransactions') ||
        hasMethod(signer, 'signTransactions') ||
        hasMethod(signer, 'signMessages')
      )
        return {
          address,
          signTransaction: async (wire) => (await kitSigner()).signByKit(signer, address, wire),
        };
    }
  }
  throw refuse(
    'signer',
    'must have an address and signMessage or signTransaction, or be of kit, or a Keypair.',
  );
}
