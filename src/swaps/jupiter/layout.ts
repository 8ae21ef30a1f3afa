import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall } from '../provider.js';
import { leastOut, mostIn } from '../quote/check-quote.js';
import type { SwapMode } from '../types.js';
import { type SwapFormV1, v1Forms } from './layout-v1.js';
import { NUMBERS_V1_BYTES, routePlanEnd } from './route-plan.js';

/** A V2 form of Jupiter's swap instruction; numbers are positions in its accounts and data. */
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
  /** Optional account that gets the output instead of `destination`; absent if the form has none. */
  readonly destinationOverride?: number;
  readonly eventAuthority: number;
  /** Jupiter's own program id, as Anchor's event CPI wants it. */
  readonly self: number;
  /** Offset of the first amount. */
  readonly amounts: number;
}

const plain = {
  user: 0,
  source: 1,
  destination: 2,
  sourceMint: 3,
  destinationMint: 4,
  sourceProgram: 5,
  destinationProgram: 6,
};
const plainTail = { destinationOverride: 7, eventAuthority: 8, self: 9, amounts: 8 };
const shared = {
  user: 1,
  source: 2,
  destination: 5,
  sourceMint: 6,
  destinationMint: 7,
  sourceProgram: 8,
  destinationProgram: 9,
};
// Forms with shared accounts have the id of a program authority, one byte, before the amounts.
const sharedTail = { eventAuthority: 10, self: 11, amounts: 9 };

/** Jupiter's V2 forms, by discriminator in hex. Their amounts are at a fixed offset. */
export const v2Forms: ReadonlyMap<string, SwapForm> = new Map([
  ['bb64facc31c4af14', { name: 'route_v2', mode: 'ExactIn', ...plain, ...plainTail }],
  ['9d8ab85215f4f324', { name: 'exact_out_route_v2', mode: 'ExactOut', ...plain, ...plainTail }],
  [
    'd19853937cfed8e9',
    { name: 'shared_accounts_route_v2', mode: 'ExactIn', ...shared, ...sharedTail },
  ],
  [
    '3560e5cad8bbfa18',
    { name: 'shared_accounts_exact_out_route_v2', mode: 'ExactOut', ...shared, ...sharedTail },
  ],
]);

/** A decoded swap, with the accounts that only Jupiter's instructions have. */
interface JupiterCall extends SwapCall {
  readonly eventAuthority: Address;
  readonly self: Address;
}

/** Bytes of two amounts, and of slippage, platform fee and positive slippage in basis points. */
const NUMBERS_BYTES = 22;
const ROUTE_LENGTH_BYTES = 4;

/** Whether the discriminator belongs to a known form. */
export function isSwapForm(data: Uint8Array): boolean {
  const discriminator = discriminatorOf(data);
  return v2Forms.has(discriminator) || v1Forms.has(discriminator);
}

/**
 * Whether the route plan of a V1 form can be walked to its end, with the amounts and nothing else
 * behind it. The program reads the amounts there and ignores any later bytes. True for V2 forms:
 * their amounts come before the plan.
 */
export function hasReadablePlan(data: Uint8Array): boolean {
  const form = v1Forms.get(discriminatorOf(data));
  return form === undefined || amountsV1(form, data) !== undefined;
}

/**
 * Decodes a swap instruction of a known form. Returns undefined if the form is unknown, or if
 * accounts or numbers of the form are missing.
 */
export function decodeSwap(instruction: Instruction): JupiterCall | undefined {
  const discriminator = discriminatorOf(instruction.data);
  const [v1, v2] = [v1Forms.get(discriminator), v2Forms.get(discriminator)];
  if (v2 !== undefined) return decodeV2(v2, instruction);
  return v1 === undefined ? undefined : decodeV1(v1, instruction);
}

function discriminatorOf(data: Uint8Array): string {
  return Array.from(data.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function decodeV2(
  form: SwapForm,
  { program, accounts, data }: Instruction,
): JupiterCall | undefined {
  if (data.length < form.amounts + NUMBERS_BYTES + ROUTE_LENGTH_BYTES) return undefined;
  const at = (position: number) => accounts[position]?.address;
  const [user, source, destination] = [at(form.user), at(form.source), at(form.destination)];
  const [sourceMint, destinationMint] = [at(form.sourceMint), at(form.destinationMint)];
  const [sourceProgram, destinationProgram] = [at(form.sourceProgram), at(form.destinationProgram)];
  const [eventAuthority, self] = [at(form.eventAuthority), at(form.self)];
  if (
    user === undefined ||
    source === undefined ||
    destination === undefined ||
    sourceMint === undefined
  )
    return undefined;
  if (
    destinationMint === undefined ||
    sourceProgram === undefined ||
    destinationProgram === undefined
  )
    return undefined;
  if (eventAuthority === undefined || self === undefined) return undefined;
  return {
    ...{ user, source, destination, sourceMint, destinationMint },
    ...{
      sourceProgram,
      destinationProgram,
      eitherProgram: [],
      feeAccount: undefined,
      eventAuthority,
      self,
    },
    destinationOverride: optional(
      program,
      form.destinationOverride === undefined ? undefined : at(form.destinationOverride),
    ),
    ...readNumbers(form.mode, data, form.amounts, (view) => [
      view.getUint16(18, true),
      view.getUint16(20, true),
    ]),
  };
}

function decodeV1(
  form: SwapFormV1,
  { program, accounts, data }: Instruction,
): JupiterCall | undefined {
  const amounts = amountsV1(form, data);
  const at = (position: number | undefined) =>
    position === undefined ? undefined : accounts[position]?.address;
  const [user, source, destination, destinationMint] = [
    at(form.user),
    at(form.source),
    at(form.destination),
    at(form.destinationMint),
  ];
  const [tokenProgram, eventAuthority, self, fee] = [
    at(form.tokenProgram),
    at(form.eventAuthority),
    at(form.self),
    at(form.feeAccount),
  ];
  if (
    amounts === undefined ||
    user === undefined ||
    source === undefined ||
    destination === undefined
  )
    return undefined;
  if (destinationMint === undefined || tokenProgram === undefined || eventAuthority === undefined)
    return undefined;
  if (self === undefined || fee === undefined) return undefined;
  const token2022 = optional(program, at(form.token2022Program));
  return {
    ...{
      user,
      source,
      destination,
      sourceMint: at(form.sourceMint),
      destinationMint,
    },
    ...{ sourceProgram: undefined, destinationProgram: undefined, eventAuthority, self },
    eitherProgram: token2022 === undefined ? [tokenProgram] : [tokenProgram, token2022],
    feeAccount: optional(program, fee),
    destinationOverride: optional(program, at(form.destinationOverride)),
    ...readNumbers(form.mode, data, amounts, (view) => [view.getUint8(18), 0]),
  };
}

/** Returns undefined for an account that is left out: Anchor names the program's own id instead. */
function optional(program: Address, account: Address | undefined): Address | undefined {
  return account === program ? undefined : account;
}

/** Returns the offset of the amounts of a V1 form; undefined if they do not end the data. */
function amountsV1(form: SwapFormV1, data: Uint8Array): number | undefined {
  const end = routePlanEnd(data, form.plan);
  return end !== undefined && data.length - end === NUMBERS_V1_BYTES ? end : undefined;
}

type Numbers = Pick<
  SwapCall,
  | 'inAmount'
  | 'outAmount'
  | 'maxIn'
  | 'minOut'
  | 'slippageBps'
  | 'platformFeeBps'
  | 'positiveSlippageBps'
>;

function readNumbers(
  mode: SwapMode,
  data: Uint8Array,
  from: number,
  fees: (view: DataView) => [number, number],
): Numbers {
  const view = new DataView(data.buffer, data.byteOffset + from);
  const first = view.getBigUint64(0, true);
  const second = view.getBigUint64(8, true);
  const slippageBps = view.getUint16(16, true);
  const [platformFeeBps, positiveSlippageBps] = fees(view);
  const basisPoints = { slippageBps, platformFeeBps, positiveSlippageBps };
  // Above 100 % the least output would be negative. Read it as 0, which no expectation accepts.
  const least = slippageBps > 10_000 ? 0n : leastOut(second, slippageBps);
  return mode === 'ExactIn'
    ? { inAmount: first, outAmount: second, maxIn: first, minOut: least, ...basisPoints }
    : {
        inAmount: second,
        outAmount: first,
        maxIn: mostIn(second, slippageBps),
        minOut: first,
        ...basisPoints,
      };
}
