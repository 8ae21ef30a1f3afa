import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import { isExactChangeError } from '../../../src/errors.js';
import { isAddress } from '../../../src/solana/address.js';
import { createKeySigner, createSeedSigner, verifySignature } from '../../../src/solana/keys.js';
import { nonceFor } from '../../../src/payments/execute/sign-payment.js';
import { createRandom } from '../../../test/simulation/random.js';
import { BAD_KEYS, KEYS, RESERVED_KEYS } from '../../../test/fixtures/malformed-402.js';

const seed = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) & 0xff);
const pair = Keypair.fromSeed(seed).secretKey;
const mixed = Uint8Array.from([
  ...seed,
  ...Keypair.fromSeed(seed.map((b) => b ^ 1)).secretKey.slice(32),
]);
const intent = { kind: 'payment', network: '', mint: '', amount: '', payTo: '', url: '' } as const;

const SECRETS: readonly unknown[] = [
  base58.encode(pair),
  ` ${base58.encode(pair)}\n`,
  `\ufeff${base58.encode(pair)}\u2003`,
  JSON.stringify([...pair]),
  JSON.stringify([...pair], null, 2),
  [...pair],
  ...[base58.encode(mixed), [...mixed], base58.encode(seed), [...seed], JSON.stringify([...seed])],
  ...[
    '',
    ' ',
    'not a key',
    '0OIl',
    base58.encode(pair.slice(0, 63)),
    '1'.repeat(64),
    '1'.repeat(88),
  ],
  ...[`0x${Buffer.from(pair).toString('hex')}`, Buffer.from(pair).toString('base64')],
  ...[[], [1, 2, 3], [...pair.slice(0, 63), 256], [...pair.slice(0, 63), -1], [...pair, 0]],
  ...[[...pair.slice(0, 63), 1.5], '[1,2', '{}', '[]', '"text"', 'null', 7, true, {}],
  ...[JSON.stringify([...pair].map(String)), 'x'.repeat(2_000), '[true]', null],
];

function attempt(make: () => { readonly address: string }): unknown {
  try {
    return { address: make().address };
  } catch (error) {
    if (!isExactChangeError(error, 'invalid_key')) throw error;
    return { reason: error.details.reason };
  }
}

/** Vectors of keys from callers, signatures, addresses, and nonces of payments. */
export async function keys(): Promise<unknown[]> {
  const random = createRandom('spec/keys');
  const signer = createSeedSigner(seed);
  const messages = Array.from({ length: 6 }, (_, index) => random.bytes(17 * index));
  const signed = await Promise.all(
    messages.map(async (message) => ({
      message,
      signature: await signer.signMessage(message, intent),
    })),
  );
  const [{ message, signature } = { message: seed, signature: seed }] = signed.slice(1);
  const spoilt = [
    { message, signature: signature.map((byte, at) => (at === 40 ? byte ^ 1 : byte)) },
    { message: message.slice(1), signature },
    { message, signature: signature.slice(1) },
    { message, signature: new Uint8Array(64) },
  ];
  const verified = await Promise.all(
    [...signed, ...spoilt].map(async (pair) => ({
      ...{ of: 'verify', ...pair, address: signer.address },
      out: await verifySignature(pair.message, pair.signature, signer.address),
    })),
  );
  const purposes = [
    { url: 'https://api.example.com/a' },
    { url: 'https://api.example.com/a', idempotencyKey: 'order 1' },
    { url: 'https://api.example.com/a#b', idempotencyKey: 'order 1' },
    { url: 'https://api.example.com/b', idempotencyKey: 'größe "2"' },
  ];
  const addresses = [...Object.values(KEYS), ...BAD_KEYS, ...RESERVED_KEYS];
  return [
    // Clone the secret, because the signer erases its bytes and the next row needs them.
    ...SECRETS.map((secret) => ({
      ...{ of: 'secret', in: secret },
      out: attempt(() => createKeySigner(structuredClone(secret) as string)),
    })),
    ...[seed, pair].map((bytes) => ({
      ...{ of: 'seed', in: bytes },
      out: attempt(() => createSeedSigner(Uint8Array.from(bytes))),
    })),
    ...signed.map((pair) => ({ of: 'sign', seed, ...pair })),
    ...verified,
    ...addresses.map((address) => ({ of: 'address', in: address, out: isAddress(address) })),
    ...purposes.map((purpose) => ({
      ...{ of: 'nonce', in: purpose },
      out: nonceFor(purpose, (length) => new Uint8Array(length).fill(7)),
    })),
  ];
}
