// Edwards25519 by RFC 8032, 5.1, for checks of keys before anything is signed. `ed25519.ts` signs
// and verifies.
import { sha512 } from '../internal/sha2.js';

const P = 2n ** 255n - 19n;
/** The curve's constant, -121665 / 121666. */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
/** A square root of -1. */
const ROOT = 19681161376707505956807079304988542015446066515923890162744021073123829784752n;
const KEY_BYTES = 32;

/** A point in extended coordinates: x = X/Z, y = Y/Z, x * y = T/Z. */
interface Point {
  readonly X: bigint;
  readonly Y: bigint;
  readonly Z: bigint;
  readonly T: bigint;
}

const NEUTRAL: Point = { X: 0n, Y: 1n, Z: 1n, T: 0n };

function mod(value: bigint): bigint {
  const remainder = value % P;
  return remainder < 0n ? remainder + P : remainder;
}

/** Returns value^(2^times). */
function squared(value: bigint, times: number): bigint {
  let power = value;
  for (let time = 0; time < times; time += 1) power = (power * power) % P;
  return power;
}

/** Returns value^(2^bits - 1). */
function toOnes(value: bigint, bits: number): bigint {
  if (bits === 1) return value;
  const half = toOnes(value, bits >> 1);
  const power = (squared(half, bits >> 1) * half) % P;
  return bits % 2 === 0 ? power : (squared(power, 1) * value) % P;
}

/** Returns the inverse: value^(P - 2), with P - 2 = 32 (2^250 - 1) + 11. */
function inverted(value: bigint): bigint {
  return mod(squared(toOnes(value, 250), 5) * value ** 11n);
}

/** Adds two points (5.1.4). The formula also doubles a point. */
function add(left: Point, right: Point): Point {
  const a = (left.Y - left.X) * (right.Y - right.X);
  const b = (left.Y + left.X) * (right.Y + right.X);
  const c = mod(2n * D * left.T) * right.T;
  const d = 2n * left.Z * right.Z;
  const [e, f, g, h] = [mod(b - a), mod(d - c), mod(d + c), mod(b + a)];
  return { X: mod(e * f), Y: mod(g * h), Z: mod(f * g), T: mod(e * h) };
}

/** Multiplies a point. It takes the same steps for each scalar of 255 bits. */
function multiply(point: Point, scalar: bigint): Point {
  let [product, next] = [NEUTRAL, point];
  for (let bit = 254n; bit >= 0n; bit -= 1n) {
    const sum = add(product, next);
    if ((scalar >> bit) & 1n) [product, next] = [sum, add(next, next)];
    else [product, next] = [add(product, product), sum];
  }
  return product;
}

/** Decodes a point (5.1.3); undefined if the bytes are no point, or not its canonical form. */
function decode(bytes: Uint8Array): Point | undefined {
  if (bytes.length !== KEY_BYTES) return undefined;
  const number = numberOf(bytes);
  const isOdd = number >> 255n === 1n;
  const y = BigInt.asUintN(255, number);
  if (y >= P) return undefined;
  // x^2 = u / v
  const u = mod(y * y - 1n);
  const v = mod(D * y * y + 1n);
  const v3 = mod(v * v * v);
  // The exponent is (P - 5) / 8 = 4 (2^250 - 1) + 1.
  const base = mod(u * v3 * v3 * v);
  let x = mod(u * v3 * mod(squared(toOnes(base, 250), 2) * base));
  if (mod(v * x * x) !== u) {
    x = mod(x * ROOT);
    if (mod(v * x * x) !== u) return undefined;
  }
  if (x === 0n && isOdd) return undefined;
  if (((x & 1n) === 1n) !== isOdd) x = P - x;
  return { X: x, Y: y, Z: 1n, T: mod(x * y) };
}

function encode({ X, Y, Z }: Point): Uint8Array {
  const inverse = inverted(Z);
  const number = mod(Y * inverse) | ((mod(X * inverse) & 1n) << 255n);
  return Uint8Array.from({ length: KEY_BYTES }, (_, at) =>
    Number((number >> BigInt(8 * at)) & 255n),
  );
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

/** Returns the public key of a seed of 32 bytes (5.1.5). */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  const scalar = BigInt.asUintN(255, numberOf(sha512(seed).subarray(0, KEY_BYTES)));
  const clamped = (scalar | (1n << 254n)) & ~7n;
  // The base point: y is 4/5, and x is even.
  const base = decode(Uint8Array.from({ length: KEY_BYTES }, (_, at) => (at === 0 ? 0x58 : 0x66)));
  if (base === undefined) throw new TypeError('The base point is none.');
  return encode(multiply(base, clamped));
}

/** Whether 32 bytes are a point: then they may be the key of a wallet, and not of a program. */
export function isOnCurve(key: Uint8Array): boolean {
  return decode(key) !== undefined;
}

/**
 * Whether a key is a point of large order: keys of small order accept signatures of any message.
 */
export function isStrictKey(key: Uint8Array): boolean {
  const point = decode(key);
  if (point === undefined) return false;
  const eightfold = multiply(point, 8n);
  return eightfold.X !== 0n || eightfold.Y !== eightfold.Z;
}
