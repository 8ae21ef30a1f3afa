import { hex } from '../../internal/bytes.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall } from '../provider.js';
import { leastOut, mostIn } from '../quote/check-quote.js';
import type { SwapMode } from '../types.js';
import { NUMBERS_V1_BYTES, routePlanEnd } from './route-plan.js';

/** A form of Jupiter's swap instruction; numbers are positions in its accounts and data. */
interface SwapForm {
  readonly name: string;
  readonly mode: SwapMode;
  readonly user: number;
  readonly source: number;
  readonly destination: number;
  /** Optional account that gets the output instead of `destination`; absent if the form has none. */
  readonly destinationOverride?: number;
  /** Absent if the form does not name it: then only the source account tells the mint. */
  readonly sourceMint?: number;
  readonly destinationMint: number;
  readonly eventAuthority: number;
  /**
   * Jupiter's own program id, as Anchor's event CPI wants it. The same id also replaces each
   * optional account that is left out. It is the last account of every form.
   */
  readonly self: number;
}

interface SwapFormV1 extends SwapForm {
  /**
   * A token program of either side. The form does not say which side it belongs to, so the token
   * accounts must prove that.
   */
  readonly tokenProgram: number;
  /** Optional Token-2022 program, beside `tokenProgram`; absent if the form has none. */
  readonly token2022Program?: number;
  readonly feeAccount: number;
  /**
   * Offset of the route plan. The amounts follow it: input and quoted output, or output and quoted
   * input.
   */
  readonly plan: number;
}

interface SwapFormV2 extends SwapForm {
  readonly sourceMint: number;
  readonly sourceProgram: number;
  readonly destinationProgram: number;
  readonly amounts: number;
}

const plainV1 = {
  tokenProgram: 0,
  user: 1,
  source: 2,
  destination: 3,
  destinationOverride: 4,
  plan: 8,
};
const route = { ...plainV1, destinationMint: 5, feeAccount: 6, eventAuthority: 7, self: 8 };
const exactOut = {
  ...plainV1,
  sourceMint: 5,
  destinationMint: 6,
  feeAccount: 7,
  token2022Program: 8,
  eventAuthority: 9,
  self: 10,
};
// Accounts 1, 4 and 5 are the program's own authority and its two token accounts. The authority's id
// is one byte of data before the plan.
const sharedV1 = {
  ...{ tokenProgram: 0, user: 2, source: 3, destination: 6, sourceMint: 7, destinationMint: 8 },
  ...{ feeAccount: 9, token2022Program: 10, eventAuthority: 11, self: 12, plan: 9 },
};

/**
 * Jupiter's V1 forms, by discriminator in hex. Forms with a token ledger are left out, because they
 * take their input amount from another account.
 */
export const v1Forms: ReadonlyMap<string, SwapFormV1> = new Map([
  ['e517cb977ae3ad2a', { name: 'route', mode: 'ExactIn', ...route }],
  ['d033ef977b2bed5c', { name: 'exact_out_route', mode: 'ExactOut', ...exactOut }],
  ['c1209b3341d69c81', { name: 'shared_accounts_route', mode: 'ExactIn', ...sharedV1 }],
  ['b0d169a89a7d453e', { name: 'shared_accounts_exact_out_route', mode: 'ExactOut', ...sharedV1 }],
]);

const plain = {
  ...{ user: 0, source: 1, destination: 2, sourceMint: 3, destinationMint: 4 },
  ...{ sourceProgram: 5, destinationProgram: 6 },
  ...{ destinationOverride: 7, eventAuthority: 8, self: 9, amounts: 8 },
};
// Forms with shared accounts have the id of a program authority, one byte, before the amounts.
const shared = {
  ...{ user: 1, source: 2, destination: 5, sourceMint: 6, destinationMint: 7 },
  ...{ sourceProgram: 8, destinationProgram: 9, eventAuthority: 10, self: 11, amounts: 9 },
};

/** Jupiter's V2 forms, by discriminator in hex. Their amounts are at a fixed offset. */
export const v2Forms: ReadonlyMap<string, SwapFormV2> = new Map([
  ['bb64facc31c4af14', { name: 'route_v2', mode: 'ExactIn', ...plain }],
  ['9d8ab85215f4f324', { name: 'exact_out_route_v2', mode: 'ExactOut', ...plain }],
  ['d19853937cfed8e9', { name: 'shared_accounts_route_v2', mode: 'ExactIn', ...shared }],
  ['3560e5cad8bbfa18', { name: 'shared_accounts_exact_out_route_v2', mode: 'ExactOut', ...shared }],
]);

interface JupiterCall extends SwapCall {
  readonly eventAuthority: Address;
  readonly self: Address;
}

/** Bytes of two amounts, and of slippage, platform fee and positive slippage in basis points. */
const NUMBERS_V2_BYTES = 22;
const ROUTE_LENGTH_BYTES = 4;

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
  return form === undefined || numbersV1(form, data) !== undefined;
}

/**
 * Decodes a swap instruction of a known form. Returns undefined if the form is unknown, or if
 * accounts or numbers of the form are missing.
 */
export function decodeSwap({ program, accounts, data }: Instruction): JupiterCall | undefined {
  const discriminator = discriminatorOf(data);
  const [v1, v2] = [v1Forms.get(discriminator), v2Forms.get(discriminator)];
  const form = v1 ?? v2;
  const numbers = (v1 && numbersV1(v1, data)) ?? (v2 && numbersV2(v2, data));
  if (form === undefined || numbers === undefined) return undefined;
  const at = (position: number | undefined) =>
    position === undefined ? undefined : accounts[position]?.address;
  // Anchor names the program's own id for an account that is left out.
  const optional = (position: number | undefined) =>
    at(position) === program ? undefined : at(position);
  const [user, source, destination] = [at(form.user), at(form.source), at(form.destination)];
  const [destinationMint, eventAuthority] = [at(form.destinationMint), at(form.eventAuthority)];
  const self = at(form.self);
  // If the last account is there, all accounts are.
  if (self === undefined || user === undefined || source === undefined) return undefined;
  if (destination === undefined || destinationMint === undefined || eventAuthority === undefined)
    return undefined;
  return {
    ...{ user, source, destination, sourceMint: at(form.sourceMint), destinationMint },
    ...{ eventAuthority, self },
    sourceProgram: at(v2?.sourceProgram),
    destinationProgram: at(v2?.destinationProgram),
    eitherProgram: [at(v1?.tokenProgram), optional(v1?.token2022Program)].filter(
      (account) => account !== undefined,
    ),
    feeAccount: optional(v1?.feeAccount),
    destinationOverride: optional(form.destinationOverride),
    ...numbers,
  };
}

function discriminatorOf(data: Uint8Array): string {
  return hex.encode(data.subarray(0, 8));
}

type Amounts = Pick<SwapCall, 'inAmount' | 'outAmount' | 'maxIn' | 'minOut' | 'slippageBps'>;
type Numbers = Amounts & Pick<SwapCall, 'platformFeeBps' | 'positiveSlippageBps'>;

/** Returns the numbers of a V1 form; undefined if they do not end the data. */
function numbersV1({ mode, plan }: SwapFormV1, data: Uint8Array): Numbers | undefined {
  const end = routePlanEnd(data, plan);
  if (end === undefined || data.length - end !== NUMBERS_V1_BYTES) return undefined;
  const view = new DataView(data.buffer, data.byteOffset + end);
  return { ...amountsIn(mode, view), platformFeeBps: view.getUint8(18), positiveSlippageBps: 0 };
}

function numbersV2({ mode, amounts }: SwapFormV2, data: Uint8Array): Numbers | undefined {
  if (data.length < amounts + NUMBERS_V2_BYTES + ROUTE_LENGTH_BYTES) return undefined;
  const view = new DataView(data.buffer, data.byteOffset + amounts);
  return {
    ...amountsIn(mode, view),
    platformFeeBps: view.getUint16(18, true),
    positiveSlippageBps: view.getUint16(20, true),
  };
}

function amountsIn(mode: SwapMode, view: DataView): Amounts {
  const first = view.getBigUint64(0, true);
  const second = view.getBigUint64(8, true);
  const slippageBps = view.getUint16(16, true);
  if (mode === 'ExactOut') {
    const maxIn = mostIn(second, slippageBps);
    return { inAmount: second, outAmount: first, maxIn, minOut: first, slippageBps };
  }
  // Above 100 % the least output would be negative. Read it as 0, which no expectation accepts.
  const minOut = slippageBps > 10_000 ? 0n : leastOut(second, slippageBps);
  return { inAmount: first, outAmount: second, maxIn: first, minOut, slippageBps };
}
