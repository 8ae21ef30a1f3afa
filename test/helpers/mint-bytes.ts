import { address, getAddressEncoder } from '@solana/kit';

/** An extension of a Token-2022 mint: its type number and its bytes. */
export type ExtensionBytes = readonly [type: number, bytes: Uint8Array];

const PADDED = 165;
const KIND_MINT = 1;

export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';

/** Returns the account data of a mint; with extensions, in the layout of Token-2022. */
export function mintBytes(
  decimals: number,
  extensions: readonly ExtensionBytes[] = [],
): Uint8Array {
  const base = new Uint8Array(82);
  base.set([decimals, 1], 44);
  if (extensions.length === 0) return base;
  const tail = extensions.flatMap(([type, bytes]) => [
    type & 0xff,
    type >> 8,
    bytes.length & 0xff,
    bytes.length >> 8,
    ...bytes,
  ]);
  return Uint8Array.from([...base, ...new Uint8Array(PADDED - base.length), KIND_MINT, ...tail]);
}

const key = (text: string) => new Uint8Array(getAddressEncoder().encode(address(text)));
const at = (
  size: number,
  ...parts: readonly (readonly [offset: number, bytes: ArrayLike<number>])[]
): Uint8Array => {
  const bytes = new Uint8Array(size);
  for (const [offset, part] of parts) bytes.set(part, offset);
  return bytes;
};

/** A transfer fee of `bps` that is already in force. */
export const transferFee = (bps: number): ExtensionBytes => [
  1,
  at(108, [88, [bps & 0xff, bps >> 8]]),
];
/** A transfer fee of zero now, and of `bps` from a later epoch on. */
export const comingFee = (bps: number): ExtensionBytes => [
  1,
  at(108, [106, [bps & 0xff, bps >> 8]]),
];
export const transferHook = (program: string): ExtensionBytes => [14, at(64, [32, key(program)])];
export const permanentDelegate = (delegate: string): ExtensionBytes => [12, key(delegate)];
export const paused: ExtensionBytes = [26, at(33, [32, [1]])];
export const running: ExtensionBytes = [26, at(33)];
export const nonTransferable: ExtensionBytes = [9, new Uint8Array()];
export const startsFrozen: ExtensionBytes = [6, Uint8Array.of(2)];
export const unknownExtension: ExtensionBytes = [999, Uint8Array.of(1, 2, 3)];
