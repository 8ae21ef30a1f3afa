import { ed25519 } from '@noble/curves/ed25519';
import { Point } from '@noble/ed25519';
import { PublicKey } from '@solana/web3.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressOf } from '../../../src/solana/address.js';
import { isOnCurve, isStrictKey, publicKeyOf } from '../../../src/solana/curve.js';
import { publicKeyByTable, sign, verify } from '../../../src/solana/ed25519.js';
import { verifySignature } from '../../../src/solana/keys.js';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

it('derives the public keys of @noble/curves in both ways', () => {
  fc.assert(
    fc.property(bytes(32), (seed) => {
      const expected = ed25519.getPublicKey(seed);
      expect(publicKeyOf(seed)).toEqual(expected);
      expect(publicKeyByTable(seed)).toEqual(expected);
    }),
  );
});

it('finds a hash on the curve exactly when web3.js does', () => {
  fc.assert(
    fc.property(bytes(32), (hash) => {
      expect(isOnCurve(hash)).toBe(PublicKey.isOnCurve(hash));
    }),
    { numRuns: 500 },
  );
});

it('accepts 32 bytes at the limits of the encoding exactly when @noble/ed25519 does', () => {
  const p = 2n ** 255n - 19n;
  for (const around of [0n, p >> 1n, p, 2n ** 255n])
    for (let offset = -20n; offset <= 20n; offset += 1n)
      for (const sign of [0n, 1n << 255n]) {
        const number = BigInt.asUintN(255, around + offset) | sign;
        const key = Uint8Array.from({ length: 32 }, (_, at) =>
          Number((number >> BigInt(8 * at)) & 255n),
        );
        expect([number, isOnCurve(key)]).toEqual([number, isPoint(key)]);
        expect([number, isStrictKey(key)]).toEqual([
          number,
          isPoint(key) && !Point.fromBytes(key).isSmallOrder(),
        ]);
      }
  for (const length of [0, 31, 33]) expect(isOnCurve(new Uint8Array(length))).toBe(false);
});

function isPoint(key: Uint8Array): boolean {
  try {
    Point.fromBytes(key);
    return true;
  } catch {
    return false;
  }
}

it('signs as @noble/curves does, and rejects a changed signature, with and without WebCrypto', async () => {
  await fc.assert(
    fc.asyncProperty(
      bytes(32),
      fc.uint8Array({ maxLength: 300 }),
      fc.nat(63),
      fc.nat(7),
      async (seed, message, byte, bit) => {
        const [key, signature] = [ed25519.getPublicKey(seed), sign(message, seed)];
        expect(signature).toEqual(ed25519.sign(message, seed));
        const changed = Uint8Array.from(signature);
        changed[byte] = (changed[byte] ?? 0) ^ (1 << bit);
        for (const [candidate, isGood] of [
          [signature, true],
          [changed, false],
        ] as const) {
          expect(verify(candidate, message, key)).toBe(isGood);
          expect(await verifySignature(message, candidate, addressOf(key))).toBe(isGood);
        }
      },
    ),
    { numRuns: 20 },
  );
});

// Signatures of these keys fit any message if R and S have no weight. The network rejects them.
it.each([
  ['the neutral point', '0100000000000000000000000000000000000000000000000000000000000000'],
  ['a point of order 2', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['a point of order 4', '0000000000000000000000000000000000000000000000000000000000000000'],
  ['a point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  [
    'a point in a longer spelling',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ],
])('rejects every signature of %s', async (_, text) => {
  const key = Uint8Array.from(Buffer.from(text, 'hex'));
  const neutral = Uint8Array.from({ length: 64 }, (_, at) => (at === 0 ? 1 : 0));
  expect(isStrictKey(key)).toBe(false);
  for (const message of [new Uint8Array(), Uint8Array.of(1, 2, 3)])
    expect(await verifySignature(message, neutral, addressOf(key))).toBe(false);
});
