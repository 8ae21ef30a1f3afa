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
const with64 = (change: (bytes: Uint8Array) => void) => {
  const copy = pair.slice();
  change(copy);
  return copy;
};
const buffer = (bytes: Uint8Array) => Buffer.from(bytes);

/** At least sixty values that are no key; most are a key with a single mistake. */
const WRONG_KEYS: readonly (readonly [name: string, key: unknown])[] = [
  ['null', null],
  ['true', true],
  ['a number', 42],
  ['a bigint', 42n],
  ['a symbol', Symbol('key')],
  ['a function', () => pair],
  ['a promise', Promise.resolve(pair)],
  ['an empty object', {}],
  ['an object with the key', { secretKey: pair }],
  ['an object with a length', { length: 64 }],
  ['a Map', new Map(pair.entries())],
  ['a Set', new Set(pair)],
  ['an ArrayBuffer', pair.slice().buffer],
  ['a DataView', new DataView(pair.slice().buffer)],
  ['a Uint16Array', Uint16Array.from(pair)],
  ['an Int8Array', Int8Array.from(pair)],
  ['a URL', new URL(`https://example.com/${text58}`)],
  ['no bytes', new Uint8Array()],
  ...[1, 16, 31, 32, 33, 48, 63].map(
    (length) => [`${length} bytes`, pair.slice(0, length)] as const,
  ),
  ['65 bytes', Uint8Array.of(...pair, 0)],
  ['128 bytes', Uint8Array.of(...pair, ...pair)],
  ['an empty list', []],
  ['a list of 31', [...seed].slice(1)],
  ['a list of 32', [...seed]],
  ['a list of 63', [...pair].slice(1)],
  ['a list of 65', [...pair, 0]],
  ['a list with 256', [...pair.slice(1), 256]],
  ['a list with -1', [...pair.slice(1), -1]],
  ['a list with a fraction', [...pair.slice(1), 0.5]],
  ['a list with NaN', [...pair.slice(1), NaN]],
  ['a list with a hole', Object.assign([...pair], { length: 65 })],
  ['a list of holes', new Array(64)],
  ['a list of texts', [...pair].map(String)],
  ['a list of lists', [...pair].map((byte) => [byte])],
  ['a list with null', [...pair.slice(1), null]],
  ['the other public key', with64((bytes) => bytes.set([(bytes[63] ?? 0) ^ 1], 63))],
  ['the halves swapped', Uint8Array.of(...pair.slice(32), ...seed)],
  ['the seed twice', Uint8Array.of(...seed, ...seed)],
  ['the seed and zeros', Uint8Array.of(...seed, ...new Uint8Array(32))],
  ['64 zeros', new Uint8Array(64)],
  ['space', '   '],
  ['a word', 'secret'],
  [
    'a mnemonic',
    'abandon ability able about above absent absorb abstract absurd abuse access accident',
  ],
  ['base58 of 31 bytes', base58(pair.slice(0, 31))],
  ['base58 of 33 bytes', base58(pair.slice(0, 33))],
  ['base58 of 63 bytes', base58(pair.slice(1))],
  ['base58 cut off', text58.slice(0, -2)],
  ['base58 twice', text58 + text58],
  ['base58 with a 0', `0${text58.slice(1)}`],
  ['base58 with an O', `O${text58.slice(1)}`],
  ['base58 with an l', `l${text58.slice(1)}`],
  ['base58 in quotes', `"${text58}"`],
  ['base58 with a line break inside', `${text58.slice(0, 40)}\n${text58.slice(40)}`],
  ['base58 with its name', `WALLET_SECRET_KEY=${text58}`],
  [
    'base58 of the other public key',
    base58(with64((bytes) => bytes.set([(bytes[63] ?? 0) ^ 1], 63))),
  ],
  ['hex', buffer(pair).toString('hex')],
  ['hex with 0x', `0x${buffer(pair).toString('hex')}`],
  ['hex of the seed', buffer(seed).toString('hex')],
  ['base64', buffer(pair).toString('base64')],
  ['base64 of the seed', buffer(seed).toString('base64')],
  ['base64url', buffer(pair).toString('base64url')],
  [
    'PEM',
    `-----BEGIN PRIVATE KEY-----\n${buffer(seed).toString('base64')}\n-----END PRIVATE KEY-----`,
  ],
  ['a JSON list cut off', JSON.stringify([...pair]).slice(0, -1)],
  ['a JSON list with a trailing comma', `${JSON.stringify([...pair]).slice(0, -1)},]`],
  ['a JSON list of 63', JSON.stringify([...pair].slice(1))],
  ['a JSON list of texts', JSON.stringify([...pair].map(String))],
  ['a JSON list with 256', JSON.stringify([...pair.slice(1), 256])],
  ['a JSON object', JSON.stringify({ secretKey: [...pair] })],
  ['a JSON text', JSON.stringify(text58)],
  ['numbers without brackets', [...pair].join(',')],
  ['a list in Python', `bytes([${[...pair].join(', ')}])`],
  ['a megabyte', text58.repeat(12_000)],
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

describe('an invalid walletSecretKey', () => {
  it('has at least sixty forms', () => expect(WRONG_KEYS.length).toBeGreaterThanOrEqual(60));

  it.each(WRONG_KEYS)(
    'is refused without any part of it in the error: %s',
    (_, walletSecretKey) => {
      const error = thrown({ walletSecretKey });
      expectConfigError(error, 'invalid_key');
      const seen = exposed(error);
      expect(findNeedles(seen, keyNeedles(pair))).toEqual([]);
      if (typeof walletSecretKey === 'string' && walletSecretKey.trim().length > 6)
        expect(seen).not.toContain(walletSecretKey.slice(0, 60));
      expectConfigError(
        thrown({ walletSecretKey }, (options) => new HTTPInterceptor(options)),
        'invalid_key',
      );
    },
  );

  it('is refused when neither a key nor a signer is set', () => {
    for (const options of [
      {},
      { walletSecretKey: undefined },
      { walletSecretKey: '' },
      { signer: undefined },
    ]) {
      const error = thrown(options);
      expectConfigError(error, 'invalid_option');
      expect(error.details).toEqual({ option: 'walletSecretKey' });
    }
  });
});

describe('an invalid option', () => {
  const signer = {
    address: base58(pair.slice(32)),
    signMessage: () => Promise.reject(new Error('asked to sign')),
  };
  const RPC_URLS: readonly unknown[] = [
    '',
    ' ',
    'nonsense',
    'localhost:8899',
    '//rpc.example.com',
    '/rpc',
    'http://',
    'http:// rpc',
    'http://[::1',
    'http://rpc.example.com:99999',
    'ftp://rpc.example.com',
    'ws://rpc.example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:,x',
    5,
    true,
    {},
    [],
    [[]],
    [undefined],
    ['https://rpc.example.com', 'nonsense'],
  ];

  it.each(RPC_URLS.map((url) => [JSON.stringify(url) ?? 'undefined', url]))(
    'is refused by name: rpcUrl %s',
    (_, rpcUrl) => {
      const error = thrown({ signer, rpcUrl });
      expectConfigError(error, 'invalid_option');
      expect(error.details).toEqual({ option: 'rpcUrl' });
      expect(error.message).toContain('rpcUrl');
    },
  );

  it('is refused without its URL, which may hold the key of a provider', () => {
    for (const option of ['rpcUrl', 'jupiterUrl', 'wsUrl']) {
      for (const url of [
        'htp://rpc.example.com/?api-key=hush-hush',
        'https://hush-hush@rpc.example.com/',
        'http://rpc example.com/hush-hush',
      ]) {
        const error = thrown({ signer, [option]: url });
        expectConfigError(error, 'invalid_option');
        expect(error.details).toEqual({ option });
        expect(exposed(error)).not.toContain('hush-hush');
      }
    }
  });

  it.each<[option: string, options: Record<string, unknown>]>([
    ['options', Object.create(null, {})],
    ['wallet', { wallet: text58 }],
    ['autoswap', { autoswap: true }],
    ['autoSwap', { autoSwap: 'yes' }],
    ['network', { network: 'ethereum' }],
    ['network', { network: 5 }],
    ['rpcUrl', { rpcUrl: [] }],
    ['connection', { connection: {}, rpcUrl: 'https://rpc.example.com' }],
    ['wsUrl', { wsUrl: 'https://rpc.example.com' }],
    ['jupiterUrl', { jupiterUrl: 'https://lite-api.jup.ag' }],
    ['jupiterUrl', { jupiterUrl: 'jup.ag' }],
    ['jupiterApiKey', { jupiterApiKey: 5 }],
    ['swapFrom', { swapFrom: 'SOL' }],
    ['swapFrom[0]', { swapFrom: ['DOGE'] }],
    ['retryWindow', { retryWindow: -1 }],
    ['retryWindow', { retryWindow: NaN }],
    ['retryWindow', { retryWindow: '60' }],
    ['retries', { retries: -1 }],
    ['retries', { retries: 1.5 }],
    ['retries', { retries: 11 }],
    ['retries', { retries: '2' }],
    ['timeouts', { timeouts: 5 }],
    ['timeouts.rpc', { timeouts: { rpc: -1 } }],
    ['timeouts.solana', { timeouts: { solana: 1 } }],
    ['fetch', { fetch: 'fetch' }],
    ['policy.maxPerDay', { policy: { maxPerDay: 5 } }],
    ['policy.maxPerDay', { policy: { maxPerDay: '$5' } }],
    ['policy.maxPerPayment', { policy: { maxPerPayment: '1,00' } }],
    ['policy.maxPerPayment', { policy: { maxPerPayment: '0.0000001' } }],
    ['policy.maxPerpayment', { policy: { maxPerpayment: '1' } }],
    [
      "policy.maxPerHost['https://a.example']",
      { policy: { maxPerHost: { 'https://a.example': '1' } } },
    ],
    ["policy.maxAmount['DOGE']", { policy: { maxAmount: { DOGE: '1' } } }],
    ['policy.maxSlippageBps', { policy: { maxSlippageBps: 10_001 } }],
    ['policy.maxFeeLamports', { policy: { maxFeeLamports: '-1' } }],
    ['signer', { walletSecretKey: text58 }],
    ['signer', { signer: {} }],
    ['signer', { signer: null }],
    ['signer', { signer: { ...signer, address: 'nobody' } }],
  ])('is refused by name: %s (case %#)', (option, options) => {
    const error = option === 'options' ? thrown(undefined) : thrown({ signer, ...options });
    expectConfigError(error, 'invalid_option');
    expect(error.details).toEqual({ option });
    expect(findNeedles(exposed(error), keyNeedles(pair))).toEqual([]);
  });
});
