import { base58, base64, base64url, hex } from '../../src/internal/bytes.js';
import { publicKeyByTable } from '../../src/solana/ed25519.js';

/**
 * Result of a search. `name`: a field has the name of a private key. `key`: there is a private key.
 * `crowd`: there are more values of the size of a key than the search checks.
 */
export type Finding = 'name' | 'key' | 'crowd';

const NAMES: ReadonlySet<string> = new Set(['secretkey', 'privatekey', 'walletsecretkey']);
const SEED_BYTES = 32;
const KEYPAIR_BYTES = 64;
// It takes a multiplication on the curve to tell a key from a signature. Honest requests hold a few
// signatures; checking a body full of signatures would be wasted work.
const MAX_CANDIDATES = 32;

const WORD = /[A-Za-z0-9]{64,}/g;
const BASE64_WORD = /[A-Za-z0-9+/_-]{86,}={0,2}/g;
const NUMBERS = /(?<!\d)(?:\d{1,3}[ \t\r\n]{0,4},[ \t\r\n]{0,4}){63}\d{1,3}(?!\d)/g;

type Decode = (text: string) => Uint8Array;
const SPELLINGS: readonly {
  readonly words: RegExp;
  readonly shape: RegExp;
  readonly decode: Decode;
}[] = [
  { words: WORD, shape: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/, decode: (text) => base58.decode(text) },
  {
    words: WORD,
    shape: /^(?:0[xX])?[0-9a-fA-F]{128}$/,
    decode: (text) => hex.decode(text.replace(/^0[xX]/, '').toLowerCase()),
  },
  {
    words: BASE64_WORD,
    shape: /^[A-Za-z0-9+/]{86}(?:==)?$/,
    decode: (text) => base64.decode(text.slice(0, 86) + '=='),
  },
  {
    words: BASE64_WORD,
    shape: /^[A-Za-z0-9_-]{86}(?:==)?$/,
    decode: (text) => base64url.decode(text.slice(0, 86) + '=='),
  },
  {
    words: NUMBERS,
    shape: /^/,
    decode: (text) => bytesOf(text.split(',').map(Number)) ?? new Uint8Array(0),
  },
];

/**
 * Creates a search for private keys in the parts of one request. It finds fields with the name of a
 * key at any depth. It also finds 64 bytes in which the second half is the public key of the first:
 * in base58, hex, base64 or as a list of numbers, also inside longer text. It keeps and repeats
 * nothing that it reads.
 */
export function createSecretSearch(): (value: unknown) => Finding | undefined {
  let candidates = 0;

  const judge = (bytes: Uint8Array | undefined): Finding | undefined => {
    if (bytes?.length !== KEYPAIR_BYTES) return undefined;
    candidates += 1;
    if (candidates > MAX_CANDIDATES) return 'crowd';
    return isKeypair(bytes) ? 'key' : undefined;
  };
  const inText = (text: string): Finding | undefined =>
    first(SPELLINGS, ({ words, shape, decode }) =>
      first(text.match(words) ?? [], (word) =>
        shape.test(word) ? judge(decoded(word, decode)) : undefined,
      ),
    );
  const inEntry = ([name, value]: [string, unknown]): Finding | undefined =>
    NAMES.has(name.replace(/[-_ ]/g, '').toLowerCase()) ? 'name' : (inText(name) ?? search(value));
  const search = (value: unknown): Finding | undefined => {
    if (typeof value === 'string') return inText(value);
    if (typeof value !== 'object' || value === null) return undefined;
    // Bytes that went through JSON.stringify are an object of numbers.
    const items: unknown[] = Object.values(value);
    const found = judge(bytesOf(items));
    if (found !== undefined) return found;
    return Array.isArray(value) ? first(items, search) : first(Object.entries(value), inEntry);
  };
  return search;
}

function first<T>(
  items: readonly T[],
  find: (item: T) => Finding | undefined,
): Finding | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function decoded(text: string, decode: Decode): Uint8Array | undefined {
  try {
    return decode(text);
  } catch {
    // The text has the shape of this encoding, but does not decode.
    return undefined;
  }
}

function bytesOf(items: readonly unknown[]): Uint8Array | undefined {
  if (items.length !== KEYPAIR_BYTES) return undefined;
  const isByte = (item: unknown): item is number =>
    typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255;
  return items.every(isByte) ? Uint8Array.from(items) : undefined;
}

function isKeypair(bytes: Uint8Array): boolean {
  const publicKey = publicKeyByTable(bytes.subarray(0, SEED_BYTES));
  return publicKey.every((byte, index) => byte === bytes[SEED_BYTES + index]);
}
