import { base64 } from './bytes.js';

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses an address; undefined if the text is no absolute URL. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Decodes base64; undefined if the text is no base64. */
export function parseBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return base64.decode(text);
  } catch {
    return undefined;
  }
}
