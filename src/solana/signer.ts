import type { Address } from './types.js';

/**
 * What a signer is asked to sign, in words: shown to people, checked by hardware, logged by
 * servers. Amounts are decimal strings of base units.
 */
export type SigningIntent =
  | {
      readonly kind: 'payment';
      readonly network: string;
      readonly mint: string;
      readonly amount: string;
      readonly payTo: string;
      readonly url: string;
    }
  | {
      readonly kind: 'swap';
      readonly network: string;
      readonly inputMint: string;
      readonly maxInAmount: string;
      readonly outputMint: string;
      readonly minOutAmount: string;
    };

/**
 * Signs for one wallet. The bytes are a serialized v0 message (with its version byte); the answer
 * is the 64-byte Ed25519 signature of exactly those bytes. A signer that changes the message is
 * refused.
 */
export interface Signer {
  readonly address: Address;
  signMessage(message: Uint8Array, intent: SigningIntent): Promise<Uint8Array>;
}

/** What the signers of `@solana/kit` have in common, its `KeyPairSigner` among them. */
export interface KitMessageSigner {
  readonly address: string;
  signMessages(
    messages: readonly {
      readonly content: Uint8Array;
      readonly signatures: Readonly<Record<string, never>>;
    }[],
  ): Promise<readonly Readonly<Record<string, Uint8Array>>[]>;
}

/** A `Keypair` of `@solana/web3.js`. */
export interface KeypairObject {
  readonly publicKey: { toBase58(): string };
  readonly secretKey: Uint8Array;
}
