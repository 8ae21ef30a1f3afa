import { createHash, randomBytes } from 'node:crypto';
import {
  createKeyPairSignerFromPrivateKeyBytes,
  getAddressEncoder,
  getBase58Decoder,
  type KeyPairSigner,
} from '@solana/kit';

/** A key pair with its exportable secret key. */
export interface Wallet {
  readonly signer: KeyPairSigner;
  /** Base58 of 64 bytes: private key, then public key. */
  readonly secretKey: string;
}

/**
 * Makes wallets. With a seed, the n-th wallet of a name is always the same; without a seed, all
 * keys are random.
 */
export class KeyRing {
  readonly #seed: string | undefined;
  readonly #made = new Map<string, number>();

  constructor(seed: string | undefined) {
    this.#seed = seed;
  }

  async next(name: string): Promise<Wallet> {
    const count = this.#made.get(name) ?? 0;
    this.#made.set(name, count + 1);
    const privateKey =
      this.#seed === undefined
        ? randomBytes(32)
        : createHash('sha256')
            .update(JSON.stringify([this.#seed, name, count]))
            .digest();
    const signer = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(privateKey));
    const bytes = new Uint8Array([...privateKey, ...getAddressEncoder().encode(signer.address)]);
    return { signer, secretKey: getBase58Decoder().decode(bytes) };
  }
}

/** Converts an amount of whole tokens (`'1.5'`) to base units. */
export function baseUnits(uiAmount: string, decimals: number): bigint {
  const [, whole = '', fraction = ''] = /^(\d{1,20})(?:\.(\d+))?$/.exec(uiAmount) ?? [];
  if (whole === '' || fraction.length > decimals)
    throw new RangeError(`An amount is digits with at most ${decimals} decimals, as '1.5'.`);
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}
