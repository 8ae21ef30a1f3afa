import { viewOf } from '../../internal/bytes.js';
import { addressOf } from '../address.js';
import type { Address } from '../types.js';

/** An undecoded extension of a Token-2022 mint or account. */
export interface Extension {
  readonly type: number;
  readonly value: Uint8Array;
}

/** The effects on a payment that the extensions of its mint allow. */
export interface MintFacts {
  /** Basis points withheld from every transfer: the higher of the current and the next fee. */
  readonly transferFeeBps: number;
  readonly transferHookProgram?: Address;
  readonly paused: boolean;
}

/** Extensions by type: the name, and the length of the value if it is fixed. */
export const tokenExtensions: Readonly<Record<number, readonly [name: string, bytes?: number]>> = {
  1: ['transferFeeConfig', 108],
  2: ['transferFeeAmount', 8],
  3: ['mintCloseAuthority', 32],
  4: ['confidentialTransferMint', 65],
  5: ['confidentialTransferAccount', 295],
  6: ['defaultAccountState', 1],
  7: ['immutableOwner', 0],
  8: ['memoTransfer', 1],
  9: ['nonTransferable', 0],
  10: ['interestBearingConfig', 52],
  11: ['cpiGuard', 1],
  12: ['permanentDelegate', 32],
  13: ['nonTransferableAccount', 0],
  14: ['transferHook', 64],
  15: ['transferHookAccount', 1],
  16: ['confidentialTransferFeeConfig', 129],
  17: ['confidentialTransferFeeAmount', 64],
  18: ['metadataPointer', 64],
  19: ['tokenMetadata'],
  20: ['groupPointer', 64],
  21: ['tokenGroup', 80],
  22: ['groupMemberPointer', 64],
  23: ['tokenGroupMember', 72],
  24: ['confidentialMintBurn'],
  25: ['scaledUiAmount', 56],
  26: ['pausable', 33],
  27: ['pausableAccount', 0],
};

/** Returns the name of an extension type; `unknown:<type>` if it has no name here. */
export function extensionName(type: number): string {
  return tokenExtensions[type]?.[0] ?? `unknown:${type}`;
}

/**
 * Reads entries of type (u16), length (u16) and value, to the end or to the trailing zeros. Returns
 * undefined if an entry is cut off, has a wrong length, or repeats a type.
 */
export function readExtensions(bytes: Uint8Array): Extension[] | undefined {
  const view = viewOf(bytes);
  const found: Extension[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    if (bytes.subarray(offset).every((byte) => byte === 0)) return found;
    if (offset + 4 > bytes.length) return undefined;
    const type = view.getUint16(offset, true);
    const end = offset + 4 + view.getUint16(offset + 2, true);
    const value = bytes.slice(offset + 4, end);
    const known = tokenExtensions[type]?.[1];
    if (type === 0 || end > bytes.length || found.some((item) => item.type === type))
      return undefined;
    if (known !== undefined && value.length !== known) return undefined;
    found.push({ type, value });
    offset = end;
  }
  return found;
}

/** Collects the facts without a judgement. Undefined if a value is invalid. */
export function mintFacts(extensions: readonly Extension[]): MintFacts | undefined {
  const value = (name: string) =>
    extensions.find((item) => extensionName(item.type) === name)?.value;
  const hook = keyOf(value('transferHook')?.subarray(32));
  const defaultState = value('defaultAccountState')?.[0] ?? INITIALIZED;
  const paused = value('pausable')?.[32] ?? 0;
  if (![INITIALIZED, FROZEN].includes(defaultState) || paused > 1) return undefined;
  return {
    transferFeeBps: feeBps(value('transferFeeConfig')),
    ...(hook === undefined ? {} : { transferHookProgram: hook }),
    paused: paused === 1,
  };
}

/** States in which a new account of a mint may begin. */
const [INITIALIZED, FROZEN] = [1, 2];

/** Returns the fee. Layout: two authorities, withheld amount, then twice: epoch, maximum, fee. */
function feeBps(config: Uint8Array | undefined): number {
  if (config === undefined) return 0;
  const view = viewOf(config);
  return Math.max(view.getUint16(88, true), view.getUint16(106, true));
}

/** Decodes an optional key: 32 zero bytes mean none. */
function keyOf(bytes: Uint8Array | undefined): Address | undefined {
  return bytes === undefined || bytes.every((byte) => byte === 0) ? undefined : addressOf(bytes);
}
