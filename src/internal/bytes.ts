/** Turns bytes into text and back. `decode` throws a TypeError for text that is not its own. */
export interface Coder {
  encode(bytes: Uint8Array): string;
  decode(text: string): Uint8Array<ArrayBuffer>;
}

export const hex: Coder = {
  encode: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''),
  decode(text) {
    if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new TypeError('Not hex.');
    return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  },
};

const NONE = 255;
const PAD = 0x3d; // =
/** Returns the value of each digit of an alphabet, by its character code. */
const valuesOf = (alphabet: string): Uint8Array => {
  const values = new Uint8Array(128).fill(NONE);
  for (let value = 0; value < alphabet.length; value += 1)
    values[alphabet.charCodeAt(value)] = value;
  return values;
};

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** With padding, in the standard alphabet. */
export const base64: Coder = base64Of(`${ALPHANUMERIC}+/`);
/** With padding, in the URL-safe alphabet. */
export const base64url: Coder = base64Of(`${ALPHANUMERIC}-_`);

// Not `atob` and `btoa`: in Node they are slower, and they accept text that no encoder writes.
function base64Of(alphabet: string): Coder {
  const values = valuesOf(alphabet);
  return {
    encode(bytes) {
      const text = new Uint8Array(4 * Math.ceil(bytes.length / 3)).fill(PAD);
      for (let to = 0; 6 * to < 8 * bytes.length; to += 1) {
        const at = (6 * to) >> 3;
        const two = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
        text[to] = alphabet.charCodeAt((two >> (10 - ((6 * to) & 7))) & 63);
      }
      return new TextDecoder().decode(text);
    },
    decode(text) {
      const length = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
      const bytes = new Uint8Array((length * 6) >> 3);
      let isWrong = text.length % 4 !== 0;
      let bits = 0;
      for (let at = 0, to = 0; at < length; at += 1) {
        const value = values[text.charCodeAt(at)] ?? NONE;
        isWrong ||= value === NONE;
        bits = (bits << 6) | value;
        if ((at & 3) !== 0) bytes[to++] = bits >> (6 - 2 * (at & 3));
      }
      // The spare bits of the last digit must be zero.
      if (isWrong || (bits & ((1 << ((length * 6) % 8)) - 1)) !== 0)
        throw new TypeError('Not base64.');
      return bytes;
    },
  };
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE58_VALUES = valuesOf(BASE58);
// Four digits, or three bytes, at a time: a double holds the product of both exactly.
const DIGITS_END = 58 ** 4;
const BYTES_END = 2 ** 24;

export const base58: Coder = {
  encode(bytes) {
    const parts: number[] = [];
    for (let at = (bytes.length % 3) - 3; at < bytes.length; at += 3)
      addTo(
        parts,
        BYTES_END,
        DIGITS_END,
        ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0),
      );
    let text = '';
    for (const part of parts)
      for (let left = part, count = 0; count < 4; count += 1, left = Math.floor(left / 58))
        text = BASE58.charAt(left % 58) + text;
    return '1'.repeat(leadingZeros(bytes)) + text.replace(/^1+/, '');
  },
  decode(text) {
    const digits = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1)
      digits[at] = BASE58_VALUES[text.charCodeAt(at)] ?? NONE;
    if (digits.includes(NONE)) throw new TypeError('Not base58.');
    const parts: number[] = [];
    for (let at = (digits.length % 4) - 4; at < digits.length; at += 4) {
      let four = 0;
      for (let index = at; index < at + 4; index += 1) four = 58 * four + (digits[index] ?? 0);
      addTo(parts, DIGITS_END, BYTES_END, four);
    }
    const value = new Uint8Array(3 * parts.length);
    parts.forEach((part, index) =>
      value.set([part >> 16, part >> 8, part], value.length - 3 * index - 3),
    );
    const zeros = leadingZeros(digits);
    const bytes = new Uint8Array(zeros + value.length - leadingZeros(value));
    bytes.set(value.subarray(leadingZeros(value)), zeros);
    return bytes;
  },
};

/** Multiplies a number by `factor` and adds `value`; the number's lowest part comes first. */
function addTo(parts: number[], factor: number, end: number, value: number): void {
  let carry = value;
  for (let at = 0; at < parts.length; at += 1) {
    const sum = (parts[at] ?? 0) * factor + carry;
    carry = Math.floor(sum / end);
    parts[at] = sum - carry * end;
  }
  for (; carry > 0; carry = Math.floor(carry / end)) parts.push(carry % end);
}

function leadingZeros(values: Uint8Array): number {
  const first = values.findIndex((value) => value !== 0);
  return first < 0 ? values.length : first;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Whether two lists, or the bytes of two arrays, are equal. */
export function isSameList<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  return a.length === b.length && Array.from(a).every((item, index) => item === b[index]);
}
