import { joined } from './bytes.js';

/** Reads a body to its end; cancels it and returns undefined if it is longer than the limit. */
export async function readUpTo(
  limitBytes: number,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks);
    length += value.length;
    if (length > limitBytes) {
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(value);
  }
}
