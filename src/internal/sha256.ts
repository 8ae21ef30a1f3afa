import { knownConstants, padded } from './sha512.js';

/** SHA-256: FIPS 180-4. */

const ROUNDS = 64;

let constants32: { readonly rounds: Int32Array; readonly start: Int32Array } | undefined;

export function sha256(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const upper = (words: readonly bigint[]) =>
    Int32Array.from(words, (word) => Number(word >> 32n) | 0);
  constants32 ??= {
    rounds: upper(knownConstants().rounds),
    start: upper(knownConstants().start),
  };
  const { rounds, start } = constants32;
  const state = Int32Array.from(start);
  const words = new Int32Array(ROUNDS);
  const view = padded(message, 64);
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(block + 4 * index);
    for (let index = 16; index < ROUNDS; index += 1) {
      const early = words[index - 15] ?? 0;
      const late = words[index - 2] ?? 0;
      words[index] =
        (words[index - 16] ?? 0) +
        (turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)) +
        (words[index - 7] ?? 0) +
        (turned(late, 17) ^ turned(late, 19) ^ (late >>> 10));
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let index = 0; index < ROUNDS; index += 1) {
      const first =
        h +
        (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
        ((e & f) ^ (~e & g)) +
        (rounds[index] ?? 0) +
        (words[index] ?? 0);
      const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index] ?? 0) + word));
  }
  const hash = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => hash.setInt32(4 * index, word));
  return new Uint8Array(hash.buffer);
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
