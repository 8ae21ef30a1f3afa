import { joined } from './bytes.js';

/**
 * Reads a body to its end; cancels it and returns undefined if it is longer than the room for it,
 * which may shrink meanwhile.
 */
export async function readUpTo(
  room: { size: number },
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks);
    room.size -= value.length;
    if (room.size < 0) {
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(value);
  }
}
