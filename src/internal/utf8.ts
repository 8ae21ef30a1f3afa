import { isSameList } from './bytes.js';

/**
 * Decodes UTF-8. Throws a TypeError for any other bytes. Not by `fatal`, which the decoders of some
 * runtimes refuse, such as polyfills in React Native.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  if (!isUtf8(bytes, text)) throw new TypeError('Not UTF-8.');
  return text;
}

/** Whether bytes are UTF-8, by the text that they were decoded to. */
export function isUtf8(bytes: Uint8Array, text: string): boolean {
  // A decoder puts this character in the place of wrong bytes.
  if (!text.includes('\ufffd')) return true;
  const again = new TextEncoder().encode(text);
  // A decoder leaves out a byte order mark.
  return isSameList(again, bytes.subarray(bytes.length - again.length));
}
