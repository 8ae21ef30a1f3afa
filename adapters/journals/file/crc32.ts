import * as zlib from 'node:zlib';

/** Node has it from 20.15 and 22.2 on. */
const native = 'crc32' in zlib && typeof zlib.crc32 === 'function' ? zlib.crc32 : undefined;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** CRC-32 as in zlib. `before` is that of the bytes that come before. */
export function crc32(bytes: Uint8Array, before = 0): number {
  return native === undefined ? plainCrc32(bytes, before) : native(bytes, before);
}

/** The same on any system. */
export function plainCrc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return ~crc >>> 0;
}
