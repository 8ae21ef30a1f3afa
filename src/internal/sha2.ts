// FIPS 180-4. Computes the constants by their definition, which is shorter than tables of them.

const MASK = 2n ** 64n - 1n;

/** SHA-512 and SHA-256 start from the same fractions of roots, with 64 bits and with 32 bits. */
interface Constants {
  readonly initial: readonly bigint[];
  readonly rounds: readonly bigint[];
}

let constants: Constants | undefined;

function wide(): Constants {
  return (constants ??= {
    initial: primes(8).map((prime) => rootFraction(prime, 2n)),
    rounds: primes(80).map((prime) => rootFraction(prime, 3n)),
  });
}

let upperHalves: { readonly initial: Int32Array; readonly rounds: Int32Array } | undefined;

function narrow() {
  const { initial, rounds } = wide();
  const upper = (words: readonly bigint[]) =>
    Int32Array.from(words, (word) => Number(word >> 32n) | 0);
  return (upperHalves ??= { initial: upper(initial), rounds: upper(rounds.slice(0, 64)) });
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number += 1)
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  return found;
}

/** Returns the first 64 bits of the fraction of a root. */
function rootFraction(number: number, degree: bigint): bigint {
  const value = BigInt(number) << (64n * degree);
  let root = 0n;
  // The whole part of each fits 5 bits: the 80th prime is 409.
  for (let bit = 1n << 68n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= value) root += bit;
  return root & MASK;
}

/** Returns a message in whole blocks: with a 1 bit after it, and its length in bits at the end. */
function padded(message: Uint8Array, blockBytes: 64 | 128): DataView {
  const bytes = new Uint8Array(
    Math.ceil((message.length + 1 + blockBytes / 8) / blockBytes) * blockBytes,
  );
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return view;
}

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

export function sha256(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const { initial, rounds } = narrow();
  const data = padded(message, 64);
  const state = initial.slice();
  const w = new Int32Array(64);
  for (let at = 0; at < data.byteLength; at += 64) {
    for (let t = 0; t < 16; t += 1) w[t] = data.getInt32(at + 4 * t);
    for (let t = 16; t < 64; t += 1) {
      const early = w[t - 15] ?? 0;
      const late = w[t - 2] ?? 0;
      w[t] =
        (rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)) +
        (rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)) +
        (w[t - 16] ?? 0) +
        (w[t - 7] ?? 0);
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let t = 0; t < 64; t += 1) {
      const choice = (e & f) ^ (~e & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const t1 =
        h +
        (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
        choice +
        (rounds[t] ?? 0) +
        (w[t] ?? 0);
      const t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index] ?? 0) + word));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => digest.setInt32(4 * index, word));
  return new Uint8Array(digest.buffer);
}

/** As `sha256`, with words of 64 bits: slow, so only for keys and signatures. */
export function sha512(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const { initial, rounds } = wide();
  const data = padded(message, 128);
  const state = BigUint64Array.from(initial);
  const w = new BigUint64Array(80);
  for (let at = 0; at < data.byteLength; at += 128) {
    for (let t = 0; t < 16; t += 1) w[t] = data.getBigUint64(at + 8 * t);
    for (let t = 16; t < 80; t += 1) {
      const early = w[t - 15] ?? 0n;
      const late = w[t - 2] ?? 0n;
      w[t] =
        (rotated64(early, 1n) ^ rotated64(early, 8n) ^ (early >> 7n)) +
        (rotated64(late, 19n) ^ rotated64(late, 61n) ^ (late >> 6n)) +
        (w[t - 16] ?? 0n) +
        (w[t - 7] ?? 0n);
    }
    let [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = state;
    for (let t = 0; t < 80; t += 1) {
      const choice = (e & f) ^ (~e & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const t1 =
        h +
        (rotated64(e, 14n) ^ rotated64(e, 18n) ^ rotated64(e, 41n)) +
        choice +
        (rounds[t] ?? 0n) +
        (w[t] ?? 0n);
      const t2 = (rotated64(a, 28n) ^ rotated64(a, 34n) ^ rotated64(a, 39n)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) & MASK, c, b, a, (t1 + t2) & MASK];
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index] ?? 0n) + word));
  }
  const digest = new DataView(new ArrayBuffer(64));
  state.forEach((word, index) => digest.setBigUint64(8 * index, word));
  return new Uint8Array(digest.buffer);
}

const rotated64 = (word: bigint, bits: bigint): bigint =>
  (word >> bits) | ((word << (64n - bits)) & MASK);
