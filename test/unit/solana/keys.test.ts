import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit';
import { Keypair } from '@solana/web3.js';
import { base58 } from '@scure/base';
import fc from 'fast-check';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isExactChangeError } from '../../../src/errors.js';
import { createKeySigner, createSeedSigner, verifySignature } from '../../../src/solana/keys.js';
import type { SigningIntent } from '../../../src/solana/signer.js';

const seed = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) & 0xff);
const pair = Keypair.fromSeed(seed).secretKey;
const address = Keypair.fromSeed(seed).publicKey.toBase58();
const message = new TextEncoder().encode('exactly these bytes');
const intent: SigningIntent = {
  kind: 'payment',
  network: 'n',
  mint: 'm',
  amount: '1',
  payTo: 'p',
  url: 'u',
};

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Every way to spell a key, whole and in parts that are long enough to matter. */
function spellings(bytes: Uint8Array): string[] {
  const hex = Buffer.from(bytes).toString('hex');
  const whole = [
    base58.encode(bytes),
    hex,
    Buffer.from(bytes).toString('base64'),
    Buffer.from(bytes).toString('base64url'),
    bytes.join(','),
    bytes.join(', '),
  ];
  const parts = whole.flatMap((text) =>
    Array.from({ length: Math.max(0, Math.floor(text.length / 12)) }, (_, index) =>
      text.slice(12 * index, 12 * index + 12),
    ),
  );
  return [...whole, ...parts];
}

/** The error of a key that must be refused, and what it shows: nothing of the key. */
function refusal(make: () => unknown) {
  try {
    make();
  } catch (error) {
    if (!isExactChangeError(error, 'invalid_key')) throw error;
    const shown = `${inspect(error, { showHidden: true, depth: 10 })} ${JSON.stringify(error)}`;
    for (const text of [...spellings(pair), ...spellings(seed)]) expect(shown).not.toContain(text);
    return { error, shown };
  }
  throw new Error('not refused as an invalid key');
}

describe('createKeySigner', () => {
  it.each([
    ['base58 keypair', base58.encode(pair)],
    ['base58 with white space around', ` ${base58.encode(pair)}\n`],
    ['JSON array', JSON.stringify([...pair])],
    ['JSON array, pretty', JSON.stringify([...pair], null, 2)],
    ['bytes', pair],
    ['Buffer', Buffer.from(pair)],
    ['numbers', [...pair]],
  ])('reads %s', async (_, secret) => {
    const signer = createKeySigner(secret);
    expect(signer.address).toBe(address);
    expect(await verifySignature(message, await signer.signMessage(message, intent), address)).toBe(
      true,
    );
  });

  it('reads a seed through createSeedSigner, and does not change the bytes of its caller', async () => {
    const callerBytes = Uint8Array.from(seed);
    const signer = createSeedSigner(callerBytes);
    expect(signer.address).toBe(address);
    expect(await verifySignature(message, await signer.signMessage(message, intent), address)).toBe(
      true,
    );
    expect(callerBytes).toEqual(seed);
    // A Uint8Array of another realm, as test runners have.
    const foreign = runInNewContext('Uint8Array.from(seed)', { seed: [...seed] }) as Uint8Array;
    expect(createSeedSigner(foreign).address).toBe(address);
  });

  it('does not change the bytes of its caller', async () => {
    const callerBytes = Uint8Array.from(pair);
    await createKeySigner(callerBytes).signMessage(message, intent);
    expect(callerBytes).toEqual(pair);
  });

  it('ignores later changes to the message buffer', async () => {
    const buffer = Uint8Array.from(message);
    const pending = createKeySigner(pair).signMessage(buffer, intent);
    buffer.fill(0);
    expect(await verifySignature(message, await pending, address)).toBe(true);
  });

  it('signs the same with WebCrypto, without it, after it refuses, and as kit does', async () => {
    const kit = await createKeyPairSignerFromPrivateKeyBytes(seed);
    const kitSignature = new Uint8Array(
      await crypto.subtle.sign('Ed25519', kit.keyPair.privateKey, message),
    );
    const importKey = vi.spyOn(crypto.subtle, 'importKey');
    const native = await createKeySigner(pair).signMessage(message, intent);
    expect(importKey).toHaveBeenCalledWith('pkcs8', expect.anything(), { name: 'Ed25519' }, false, [
      'sign',
    ]);
    importKey.mockRejectedValueOnce(new Error('no such algorithm'));
    const refused = await createKeySigner(pair).signMessage(message, intent);
    importKey.mockRestore();
    vi.stubGlobal('crypto', undefined);
    const pure = await createKeySigner(pair).signMessage(message, intent);
    expect([native, refused, pure]).toEqual([kitSignature, kitSignature, kitSignature]);
  });

  it('gives the runtime a copy of the seed, and erases the copy afterwards', async () => {
    const importKey = vi.spyOn(crypto.subtle, 'importKey');
    await createKeySigner(pair).signMessage(message, intent);
    const seedCopy = importKey.mock.calls[0]?.[1];
    importKey.mockRestore();
    expect(seedCopy).toEqual(new Uint8Array(48));
  });

  it.each(['18.20.8', '19.0.0', '20.19.5', '21.7.0', '22.12.0', '23.4.0'])(
    'does not use the Ed25519 of Node %s, which prints a warning',
    async (node) => {
      const importKey = vi.spyOn(crypto.subtle, 'importKey');
      vi.stubGlobal('process', { ...process, versions: { ...process.versions, node } });
      await createKeySigner(pair).signMessage(message, intent);
      expect(importKey).not.toHaveBeenCalled();
      importKey.mockRestore();
    },
  );

  it.each(['native', 'pure'])(
    'shows nothing of the key with the %s implementation',
    async (kind) => {
      if (kind === 'pure') vi.stubGlobal('crypto', undefined);
      const signer = createKeySigner(base58.encode(pair));
      await signer.signMessage(message, intent);
      const shown = [
        inspect(signer, { showHidden: true, depth: 10, getters: true }),
        JSON.stringify(signer),
        String(Reflect.get(signer, 'signMessage')),
        ...Reflect.ownKeys(signer).map((name) =>
          inspect(Reflect.get(signer, name), { showHidden: true, depth: 10 }),
        ),
      ].join('\n');
      for (const text of [
        ...spellings(seed),
        base58.encode(pair),
        Buffer.from(pair).toString('base64'),
      ])
        expect(shown).not.toContain(text);
      expect(Reflect.ownKeys(signer)).toEqual(['address', 'signMessage']);
      expect(Object.isFrozen(signer)).toBe(true);
    },
  );

  const wrongHalf = Uint8Array.from(pair);
  wrongHalf[63] = (wrongHalf[63] ?? 0) ^ 1;
  it.each<[string, unknown]>([
    ['an empty text', ''],
    ['an address', address],
    ['an address, as bytes', Keypair.fromSeed(seed).publicKey.toBytes()],
    [
      'an address, as a JSON array',
      JSON.stringify([...Keypair.fromSeed(seed).publicKey.toBytes()]),
    ],
    ['a seed, base58', base58.encode(seed)],
    ['a seed, as bytes', seed],
    ['a seed, as a JSON array', JSON.stringify([...seed])],
    ['a seed, as numbers', [...seed]],
    ['63 bytes', pair.slice(1)],
    ['65 bytes', Uint8Array.of(...pair, 0)],
    ['base58 of 33 bytes', base58.encode(pair.slice(0, 33))],
    ['another public key', wrongHalf],
    ['another public key, base58', base58.encode(wrongHalf)],
    ['hex', Buffer.from(pair).toString('hex')],
    ['base64', Buffer.from(pair).toString('base64')],
    ['broken JSON', `${JSON.stringify([...pair]).slice(0, -1)},]`],
    ['JSON object', JSON.stringify({ secretKey: [...pair] })],
    ['JSON string', JSON.stringify(base58.encode(pair))],
    ['numbers out of range', [...pair.slice(1), 256]],
    ['fractions', [...pair.slice(1), 0.5]],
    ['numbers as text', [...pair].map(String)],
    [
      'a mnemonic',
      'abandon ability able about above absent absorb abstract absurd abuse access accident',
    ],
    ['a megabyte', base58.encode(pair).repeat(12_000)],
    ['holes', new Array(32)],
    ['undefined', undefined],
    ['object', { length: 64 }],
  ])('refuses %s, and quotes nothing of it', (_, secret) => {
    // @ts-expect-error -- what JavaScript callers may pass
    const { error, shown } = refusal(() => createKeySigner(secret));
    expect(error.name).toBe('ConfigError');
    expect(shown).not.toContain('abandon');
    expect(error.cause).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['base58', base58.encode(seed)],
    ['a JSON array', JSON.stringify([...seed])],
    ['numbers', [...seed]],
    ['a keypair', pair],
    ['31 bytes', seed.slice(1)],
    ['nothing', undefined],
  ])('refuses %s in place of a seed, and quotes nothing of it', (_, secret) => {
    // @ts-expect-error -- what JavaScript callers may pass
    refusal(() => createSeedSigner(secret));
  });

  it('throws only invalid_key, whatever the input is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.uint8Array({ maxLength: 70 }),
          fc.array(fc.integer(), { maxLength: 70 }),
        ),
        (secret) => {
          try {
            createKeySigner(secret);
          } catch (error) {
            expect(isExactChangeError(error, 'invalid_key')).toBe(true);
          }
        },
      ),
    );
  });
});

describe('verifySignature', () => {
  it('returns false for anything but the signature', async () => {
    const signature = await createKeySigner(pair).signMessage(message, intent);
    const changed = Uint8Array.from(signature);
    changed[0] = (changed[0] ?? 0) ^ 1;
    expect(await verifySignature(message, changed, address)).toBe(false);
    expect(await verifySignature(message.slice(1), signature, address)).toBe(false);
    expect(await verifySignature(message, signature.slice(1), address)).toBe(false);
    expect(await verifySignature(message, new Uint8Array(64), address)).toBe(false);
    expect(await verifySignature(message, signature, '1'.repeat(32))).toBe(false);
    expect(await verifySignature(message, signature, 'nonsense')).toBe(false);
  });

  it('returns false for the second form of a signature, which WebKit on Linux accepts', async () => {
    const signature = Buffer.from(await createKeySigner(pair).signMessage(message, intent));
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`);
    const second = Buffer.from((scalar + order).toString(16).padStart(64, '0'), 'hex').reverse();
    vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
    expect(await verifySignature(message, signature, address)).toBe(true);
    const twin = Buffer.concat([signature.subarray(0, 32), second]);
    expect(await verifySignature(message, twin, address)).toBe(false);
    vi.restoreAllMocks();
  });
});
