/**
 * Signers for keys in AWS KMS, Google Cloud KMS and Turnkey. You pass a function that calls your
 * client of the cloud; this module loads none of their packages.
 *
 * @module exact-change/signers/kms
 */
import { base64, hex } from '../../src/internal/bytes.js';
import { refuse } from '../../src/internal/options.js';
import { addressOf } from '../../src/solana/address.js';
import type { MessageSigner } from '../../src/solana/signer.js';

export type { MessageSigner, SigningIntent } from '../../src/solana/signer.js';

export interface AwsKmsOptions {
  /** Base58: {@link addressOfPublicKey} of the key that `GetPublicKey` returns. */
  readonly address: string;
  /** Id of a key with the spec `ECC_NIST_EDWARDS25519`. */
  readonly keyId: string;
  /** Sends a `SignCommand` with the input, and returns its output. */
  readonly sign: (input: {
    KeyId: string;
    Message: Uint8Array;
    MessageType: 'RAW';
    SigningAlgorithm: 'ED25519_SHA_512';
  }) => Promise<{ readonly Signature?: Uint8Array | undefined }>;
}

/**
 * Returns a signer for a key of AWS KMS.
 *
 * @example
 * const kms = new KMSClient({});
 * const signer = awsKmsSigner({
 *   address,
 *   keyId,
 *   sign: (input) => kms.send(new SignCommand(input)),
 * });
 */
export function awsKmsSigner({ address, keyId, sign }: AwsKmsOptions): MessageSigner {
  return {
    address,
    async signMessage(message) {
      const { Signature } = await sign({
        KeyId: keyId,
        Message: message,
        // With a digest, KMS signs Ed25519ph, which Solana does not accept.
        MessageType: 'RAW',
        SigningAlgorithm: 'ED25519_SHA_512',
      });
      return Signature ?? new Uint8Array();
    },
  };
}

export interface GoogleKmsOptions {
  /** Base58: {@link addressOfPublicKey} of the key that `getPublicKey` returns. */
  readonly address: string;
  /** Full name of a key version with the algorithm `EC_SIGN_ED25519`. */
  readonly name: string;
  /** Calls `asymmetricSign`, and returns its response: the first item of the client's answer. */
  readonly sign: (request: {
    name: string;
    data: Uint8Array;
  }) => Promise<{ readonly signature?: Uint8Array | string | null | undefined }>;
}

/**
 * Returns a signer for a key of Google Cloud KMS.
 *
 * @example
 * const kms = new KeyManagementServiceClient();
 * const signer = googleKmsSigner({
 *   address,
 *   name,
 *   sign: async (request) => (await kms.asymmetricSign(request))[0],
 * });
 */
export function googleKmsSigner({ address, name, sign }: GoogleKmsOptions): MessageSigner {
  return {
    address,
    async signMessage(message) {
      const { signature } = await sign({ name, data: message });
      // Over REST the signature is base64.
      return typeof signature === 'string'
        ? base64.decode(signature)
        : (signature ?? new Uint8Array());
    },
  };
}

export interface TurnkeyOptions {
  /** Base58. */
  readonly address: string;
  /** Turnkey's name of the key; default `address`. */
  readonly signWith?: string | undefined;
  /** Calls `signRawPayload`. Turnkey's transaction policies do not see a raw payload. */
  readonly sign: (parameters: {
    signWith: string;
    payload: string;
    encoding: 'PAYLOAD_ENCODING_HEXADECIMAL';
    hashFunction: 'HASH_FUNCTION_NOT_APPLICABLE';
  }) => Promise<{ readonly r: string; readonly s: string }>;
}

/**
 * Returns a signer for a key of Turnkey.
 *
 * @example
 * const signer = turnkeySigner({
 *   address,
 *   sign: (parameters) => turnkey.apiClient().signRawPayload(parameters),
 * });
 */
export function turnkeySigner({
  address,
  signWith = address,
  sign,
}: TurnkeyOptions): MessageSigner {
  return {
    address,
    async signMessage(message) {
      const { r, s } = await sign({
        signWith,
        payload: hex.encode(message),
        encoding: 'PAYLOAD_ENCODING_HEXADECIMAL',
        hashFunction: 'HASH_FUNCTION_NOT_APPLICABLE',
      });
      // Turnkey leaves out leading zeros of each half.
      return hex.decode(r.padStart(64, '0') + s.padStart(64, '0'));
    },
  };
}

/** RFC 8410: the bytes before the 32 bytes of an Ed25519 public key. */
const SPKI_PREFIX = '302a300506032b6570032100';

/**
 * Returns the address of a public key in DER or PEM, as clouds return it.
 *
 * Throws `ConfigError` (`invalid_option`) if it is no Ed25519 key.
 */
export function addressOfPublicKey(publicKey: Uint8Array | string): string {
  const der = typeof publicKey === 'string' ? derIn(publicKey) : publicKey;
  const text = hex.encode(Uint8Array.from(der));
  if (text.length !== 88 || !text.startsWith(SPKI_PREFIX))
    throw refuse('publicKey', 'must be of an Ed25519 key, in DER or PEM.');
  return addressOf(hex.decode(text.slice(SPKI_PREFIX.length)));
}

function derIn(pem: string): Uint8Array {
  try {
    return base64.decode(pem.replace(/-----[A-Z ]+-----|\s/g, ''));
  } catch {
    return new Uint8Array();
  }
}
