import * as zlib from 'node:zlib';

/** Node has `crc32` from 20.15 and 22.2 on. */
const native = 'crc32' in zlib && typeof zlib.crc32 === 'function' ? zlib.crc32 : undefined;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Returns the CRC-32 of zlib. `before` is the CRC-32 of the preceding bytes. */
export function crc32(bytes: Uint8Array, before = 0): number {
  return native === undefined ? plainCrc32(bytes, before) : native(bytes, before);
}

/** `crc32` without the help of zlib. */
export function plainCrc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return ~crc >>> 0;
}

export function hexCrc32(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0');
}
