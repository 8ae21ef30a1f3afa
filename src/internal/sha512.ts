/** SHA-512: FIPS 180-4. */

const ROUNDS = 80;
const MASK = 2n ** 64n - 1n;

interface Constants {
  /** One a round: the first bits of the fractional parts of the cube roots of the first primes. */
  readonly rounds: readonly bigint[];
  /** The state that a hash begins with: those of the square roots of the first eight. */
  readonly start: readonly bigint[];
}

let constants: Constants | undefined;

/** For words of 64 bits; those for words of 32 are their upper halves. */
export function knownConstants(): Constants {
  if (constants !== undefined) return constants;
  const primes: number[] = [];
  for (let one = 2; primes.length < ROUNDS; one += 1)
    if (primes.every((prime) => one % prime !== 0)) primes.push(one);
  return (constants = {
    rounds: primes.map((prime) => fractionOf(prime, 3)),
    start: primes.slice(0, 8).map((prime) => fractionOf(prime, 2)),
  });
}

/** The first 64 bits of the fractional part of a prime's root. */
function fractionOf(prime: number, power: 2 | 3): bigint {
  const value = BigInt(prime) << BigInt(64 * power);
  const less = BigInt(power) - 1n;
  // Newton's steps, from a little above.
  for (let root = BigInt(Math.ceil(prime ** (1 / power) * 2 ** 44) + 1) << 20n; ;) {
    const next = (less * root + value / root ** less) / BigInt(power);
    if (next >= root) return root & MASK;
    root = next;
  }
}

export function sha512(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const { rounds, start } = knownConstants();
  const view = padded(message, 128);
  let state = start;
  for (let block = 0; block < view.byteLength; block += 128) {
    const words = Array.from({ length: 16 }, (_, index) => view.getBigUint64(block + 8 * index));
    const at = (index: number) => words[index] ?? 0n;
    for (let index = 16; index < ROUNDS; index += 1) {
      const [early, late] = [at(index - 15), at(index - 2)];
      words.push(
        (at(index - 16) +
          (turned64(early, 1n) ^ turned64(early, 8n) ^ (early >> 7n)) +
          at(index - 7) +
          (turned64(late, 19n) ^ turned64(late, 61n) ^ (late >> 6n))) &
          MASK,
      );
    }
    const after = words.reduce((before, word, index) => {
      const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = before;
      const first =
        h +
        (turned64(e, 14n) ^ turned64(e, 18n) ^ turned64(e, 41n)) +
        ((e & f) ^ (~e & g & MASK)) +
        (rounds[index] ?? 0n) +
        word;
      const second =
        (turned64(a, 28n) ^ turned64(a, 34n) ^ turned64(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
      return [(first + second) & MASK, a, b, c, (d + first) & MASK, e, f, g];
    }, state);
    state = state.map((word, index) => (word + (after[index] ?? 0n)) & MASK);
  }
  const hash = new DataView(new ArrayBuffer(64));
  state.forEach((word, index) => hash.setBigUint64(8 * index, word));
  return new Uint8Array(hash.buffer);
}

function turned64(word: bigint, bits: bigint): bigint {
  return (word >> bits) | ((word << (64n - bits)) & MASK);
}

/** Ends with a bit, zeros, and the length in bits, as a whole number of blocks. */
export function padded(message: Uint8Array, blockBytes: number): DataView {
  // The length has an eighth of a block.
  const least = message.length + 1 + blockBytes / 8;
  const bytes = new Uint8Array(Math.ceil(least / blockBytes) * blockBytes);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return view;
}
