import { generateKeyPairSync } from 'node:crypto';
import { getBase58Decoder } from '@solana/kit';
import {
  createClient,
  HTTPInterceptor,
  isExactChangeError,
  type ClientOptions,
  type ErrorCode,
  type ExactChangeError,
} from 'exact-change';
import { describe, expect, it } from 'vitest';
import { exposed, findNeedles, keyNeedles } from '../helpers/capture.js';
import { expectUntouched } from '../helpers/untouched.js';

// What the public doors do with wrong options. `test/unit/config/parse-options.test.ts` and
// `test/unit/solana/keys.test.ts` have every option and every form of a key.

/** A new key of 64 bytes: the secret half, then the public half. */
function newKeypair(): Uint8Array {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');
  return Uint8Array.from([
    ...bytes(privateKey.export({ format: 'jwk' }).d),
    ...bytes(publicKey.export({ format: 'jwk' }).x),
  ]);
}

const pair = newKeypair();
const seed = pair.slice(0, 32);
const base58 = (bytes: Uint8Array) => getBase58Decoder().decode(bytes);
const text58 = base58(pair);

const WRONG_KEYS: readonly (readonly [name: string, key: unknown])[] = [
  ['a promise', Promise.resolve(pair)],
  ['an object with the key', { secretKey: pair }],
  ['33 bytes', pair.slice(0, 33)],
  ['a list of texts', [...pair].map(String)],
  ['the halves swapped', Uint8Array.of(...pair.slice(32), ...seed)],
  ['base58 with an O', `O${text58.slice(1)}`],
  ['base58 with its name', `WALLET_SECRET_KEY=${text58}`],
  ['hex', Buffer.from(pair).toString('hex')],
  ['a JSON list cut off', JSON.stringify([...pair]).slice(0, -1)],
];

/** Returns the error that creating a client throws synchronously. */
function thrown(
  options: unknown,
  make: (options: ClientOptions) => unknown = createClient,
): ExactChangeError {
  try {
    // Callers in plain JavaScript can pass any value.
    make(options as ClientOptions);
  } catch (error) {
    if (isExactChangeError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function expectConfigError(error: ExactChangeError, code: ErrorCode): void {
  expect(error.code).toBe(code);
  expect(error).toMatchObject({ name: 'ConfigError', retry: 'never' });
  expectUntouched(error);
}

it.each(WRONG_KEYS)(
  'an invalid walletSecretKey is refused without any part of it in the error: %s',
  (_, walletSecretKey) => {
    const error = thrown({ walletSecretKey });
    expectConfigError(error, 'invalid_key');
    const seen = exposed(error);
    expect(findNeedles(seen, keyNeedles(pair))).toEqual([]);
    if (typeof walletSecretKey === 'string') expect(seen).not.toContain(walletSecretKey);
    expectConfigError(
      thrown({ walletSecretKey }, (options) => new HTTPInterceptor(options)),
      'invalid_key',
    );
  },
);

describe('an invalid option', () => {
  const signer = {
    address: base58(pair.slice(32)),
    signMessage: () => Promise.reject(new Error('asked to sign')),
  };

  it.each<[option: string, options: Record<string, unknown>]>([
    ['options', Object.create(null, {})],
    ['wallet', { wallet: text58 }],
    ['rpcUrl', { rpcUrl: 'https://hush-hush@rpc.example.com/' }],
    ['rpcUrl', { rpcUrl: 'http://rpc.example.com:99999/hush-hush' }],
    ['rpcUrl', { rpcUrl: 'file:///etc/hush-hush' }],
    ['rpcUrl', { rpcUrl: ['https://rpc.example.com', 'hush-hush'] }],
    ['rpcUrl', { rpcUrl: [[]] }],
    ['retryWindow', { retryWindow: NaN }],
    ['retryWindow', { retryWindow: '60' }],
    ['retries', { retries: -1 }],
    ['retries', { retries: 1.5 }],
    ['retries', { retries: 11 }],
    ['retries', { retries: '2' }],
    ['timeouts', { timeouts: 5 }],
    ['policy.maxPerDay', { policy: { maxPerDay: 5 } }],
    ['policy.maxPerDay', { policy: { maxPerDay: '$5' } }],
    ['policy.maxPerPayment', { policy: { maxPerPayment: '0.0000001' } }],
    [
      "policy.maxPerHost['https://a.example']",
      { policy: { maxPerHost: { 'https://a.example': '1' } } },
    ],
    ["policy.maxAmount['DOGE']", { policy: { maxAmount: { DOGE: '1' } } }],
    ['policy.maxFeeLamports', { policy: { maxFeeLamports: '-1' } }],
    ['signer', { walletSecretKey: text58 }],
  ])('is refused by name, without its text: %s (case %#)', (option, options) => {
    const error = option === 'options' ? thrown(undefined) : thrown({ signer, ...options });
    expectConfigError(error, 'invalid_option');
    expect(error.details).toEqual({ option });
    expect(findNeedles(exposed(error), keyNeedles(pair))).toEqual([]);
    expect(exposed(error)).not.toContain('hush-hush');
  });
});
