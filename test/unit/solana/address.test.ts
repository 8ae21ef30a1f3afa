import { base58 } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as network from '../../../src/network.js';
import { addressBytes, addressOf, isAddress } from '../../../src/solana/address.js';
import { isReservedAddress } from '../../../src/solana/reserved-addresses.js';

describe('isAddress', () => {
  it('accepts only the base58 text of 32 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const address = addressOf(bytes);
        expect(isAddress(address)).toBe(true);
        expect(addressBytes(address)).toEqual(bytes);
      }),
    );
    expect(isAddress('1'.repeat(32))).toBe(true);
  });

  it.each([
    ['number', 5],
    ['null', null],
    ['object with toString', { toString: () => network.WSOL_MINT }],
    ['empty', ''],
    ['too short', '1'.repeat(31)],
    ['33 zero bytes', '1'.repeat(33)],
    ['31 bytes', base58.encode(new Uint8Array(31).fill(255))],
    ['space before', ` ${network.WSOL_MINT}`],
    ['line end', `${network.WSOL_MINT}\n`],
    ['zero digit', network.WSOL_MINT.replace('2', '0')],
    ['full-width digit', network.WSOL_MINT.replace('2', '\uff12')],
    ['letter that folds to a digit', network.WSOL_MINT.replace('2', '\u0131')],
    ['hex', 'ab'.repeat(32)],
    ['more than 32 bytes in 44 digits', 'z'.repeat(44)],
    ['a megabyte', '2'.repeat(1_000_000)],
  ])('refuses %s', (_, value) => {
    expect(isAddress(value)).toBe(false);
  });

  it('gives the same answer for an address each time, for any number of addresses', () => {
    const addresses = Array.from({ length: 2_500 }, (_, index) =>
      addressOf(Uint8Array.from({ length: 32 }, (_, at) => (index >> (at % 12)) & 255)),
    );
    const wrong = addresses.map((address) => `1${address}`);
    for (const round of [1, 2]) {
      expect([round, addresses.filter((address) => !isAddress(address))]).toEqual([round, []]);
      expect([round, wrong.filter((text) => isAddress(text))]).toEqual([round, []]);
    }
  });

  it('is matched by addressBytes and addressOf, which throw for invalid input', () => {
    expect(() => addressBytes('abc')).toThrow(TypeError);
    expect(() => addressOf(new Uint8Array(31))).toThrow(TypeError);
  });
});

describe('isReservedAddress', () => {
  it('is true for known programs, sysvars and the zero key, and false for the key of a wallet', () => {
    for (const [name, value] of Object.entries(network)) {
      if (name.endsWith('_PROGRAM')) expect(isReservedAddress(String(value)), name).toBe(true);
    }
    expect(isReservedAddress(addressOf(new Uint8Array(32)))).toBe(true);
    expect(isReservedAddress('SysvarC1ock11111111111111111111111111111111')).toBe(true);
    expect(isReservedAddress('1nc1nerator11111111111111111111111111111111')).toBe(true);
    expect(isReservedAddress(addressOf(new Uint8Array(32).fill(1)))).toBe(false);
  });
});
