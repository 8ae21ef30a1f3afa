import type { Coder } from './bytes.js';

export const hex: Coder = {
  encode: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''),
  decode(text) {
    if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new TypeError('Not hex.');
    return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  },
};
