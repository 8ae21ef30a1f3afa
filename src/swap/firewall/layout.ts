import type { Address, Instruction } from '../../solana/types.js';
import { leastOut, mostIn } from '../threshold.js';
import type { SwapMode } from '../types.js';

/** Where one form of Jupiter's swap instruction keeps what matters; numbers are positions in its accounts and data. */
export interface SwapForm {
  readonly name: string;
  readonly mode: SwapMode;
  readonly user: number;
  readonly source: number;
  readonly destination: number;
  readonly sourceMint: number;
  readonly destinationMint: number;
  readonly sourceProgram: number;
  readonly destinationProgram: number;
  /** An optional account that gets the output instead; absent where the form has none. */
  readonly destinationOverride?: number;
  readonly eventAuthority: number;
  /** Jupiter's own program id, as Anchor's event CPI wants it. */
  readonly self: number;
  /** Offset of the first amount. */
  readonly amounts: number;
}

const plain = { user: 0, source: 1, destination: 2, sourceMint: 3, destinationMint: 4, sourceProgram: 5, destinationProgram: 6 };
const plainTail = { destinationOverride: 7, eventAuthority: 8, self: 9, amounts: 8 };
const shared = { user: 1, source: 2, destination: 5, sourceMint: 6, destinationMint: 7, sourceProgram: 8, destinationProgram: 9 };
// The data of the shared twins begins with the id of a program authority, one byte.
const sharedTail = { eventAuthority: 10, self: 11, amounts: 9 };

/**
 * The forms that are understood, by discriminator in hex: Jupiter's V2 layouts, whose amounts stand at a fixed place.
 * The V1 layouts hide theirs behind a route plan of variable length, so they are refused like unknown ones.
 */
export const swapForms: ReadonlyMap<string, SwapForm> = new Map([
  ['bb64facc31c4af14', { name: 'route_v2', mode: 'ExactIn', ...plain, ...plainTail }],
  ['9d8ab85215f4f324', { name: 'exact_out_route_v2', mode: 'ExactOut', ...plain, ...plainTail }],
  ['d19853937cfed8e9', { name: 'shared_accounts_route_v2', mode: 'ExactIn', ...shared, ...sharedTail }],
  ['3560e5cad8bbfa18', { name: 'shared_accounts_exact_out_route_v2', mode: 'ExactOut', ...shared, ...sharedTail }],
]);

/** A swap instruction, read. */
export interface SwapCall {
  readonly form: string;
  readonly mode: SwapMode;
  readonly user: Address;
  readonly source: Address;
  readonly destination: Address;
  /** Jupiter's own program id stands for none. */
  readonly destinationOverride: Address | undefined;
  readonly sourceMint: Address;
  readonly destinationMint: Address;
  readonly sourceProgram: Address;
  readonly destinationProgram: Address;
  readonly eventAuthority: Address;
  readonly self: Address;
  /** Base units: exact for `ExactIn`, quoted for `ExactOut`. */
  readonly inAmount: bigint;
  /** Base units: quoted for `ExactIn`, exact for `ExactOut`. */
  readonly outAmount: bigint;
  /** The most that the instruction can take. */
  readonly maxIn: bigint;
  /** The least that it pays out. */
  readonly minOut: bigint;
  readonly slippageBps: number;
  readonly platformFeeBps: number;
  readonly positiveSlippageBps: number;
}

const NUMBERS_BYTES = 22;
const ROUTE_LENGTH_BYTES = 4;

/** Whether the discriminator belongs to a form that is understood. */
export function swapForm(data: Uint8Array): SwapForm | undefined {
  const discriminator = Array.from(data.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return swapForms.get(discriminator);
}

/** Reads a swap instruction of a known form; undefined where the form is unknown or anything it must have is missing. */
export function decodeSwap(instruction: Instruction): SwapCall | undefined {
  const { data } = instruction;
  const form = swapForm(data);
  if (form === undefined || data.length < form.amounts + NUMBERS_BYTES + ROUTE_LENGTH_BYTES) return undefined;
  const heads = [form.user, form.source, form.destination, form.sourceMint, form.destinationMint];
  const tails = [form.sourceProgram, form.destinationProgram, form.eventAuthority, form.self];
  const [user, source, destination, sourceMint, destinationMint] = heads.map((index) => instruction.accounts[index]?.address);
  const [sourceProgram, destinationProgram, eventAuthority, self] = tails.map((index) => instruction.accounts[index]?.address);
  if (user === undefined || source === undefined || destination === undefined || sourceMint === undefined) return undefined;
  if (destinationMint === undefined || sourceProgram === undefined || destinationProgram === undefined) return undefined;
  if (eventAuthority === undefined || self === undefined) return undefined;
  const override = form.destinationOverride === undefined ? undefined : instruction.accounts[form.destinationOverride]?.address;
  return {
    ...{ form: form.name, mode: form.mode, user, source, destination, sourceMint, destinationMint },
    ...{ sourceProgram, destinationProgram, eventAuthority, self },
    destinationOverride: override === instruction.program ? undefined : override,
    ...readNumbers(form, data),
  };
}

type Numbers = Pick<SwapCall, 'inAmount' | 'outAmount' | 'maxIn' | 'minOut' | 'slippageBps' | 'platformFeeBps' | 'positiveSlippageBps'>;

function readNumbers(form: SwapForm, data: Uint8Array): Numbers {
  const view = new DataView(data.buffer, data.byteOffset + form.amounts, NUMBERS_BYTES);
  const first = view.getBigUint64(0, true);
  const second = view.getBigUint64(8, true);
  const slippageBps = view.getUint16(16, true);
  const rest = { slippageBps, platformFeeBps: view.getUint16(18, true), positiveSlippageBps: view.getUint16(20, true) };
  // Above 100 % the least output would be negative: read as nothing, which no expectation accepts.
  const least = slippageBps > 10_000 ? 0n : leastOut(second, slippageBps);
  return form.mode === 'ExactIn'
    ? { inAmount: first, outAmount: second, maxIn: first, minOut: least, ...rest }
    : { inAmount: second, outAmount: first, maxIn: mostIn(second, slippageBps), minOut: first, ...rest };
}
