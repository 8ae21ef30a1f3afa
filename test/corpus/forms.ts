import { createHash } from 'node:crypto';
import type { AccountMeta, Address } from '@solana/kit';
import { concat, u16, u32, u64 } from './accounts.js';
import { PROGRAMS, SHARED_ID, WALLET } from './addresses.js';
import { instruction, readonly, signer, writable, type FilledInstruction } from './instructions.js';

/** Purpose of an account in Jupiter's swap instructions. */
export type Place =
  | 'tokenProgram'
  | 'authority'
  | 'user'
  | 'source'
  | 'vaultIn'
  | 'vaultOut'
  | 'destination'
  | 'override'
  | 'sourceMint'
  | 'destinationMint'
  | 'sourceProgram'
  | 'destinationProgram'
  | 'fee'
  | 'token2022'
  | 'event'
  | 'self';

const WRITABLE: ReadonlySet<Place> = new Set<Place>([
  'source',
  'vaultIn',
  'vaultOut',
  'destination',
  'override',
  'fee',
]);

export interface Form {
  readonly discriminator: Uint8Array;
  readonly version: 1 | 2;
  readonly mode: 'ExactIn' | 'ExactOut';
  /** True if the data begins with the id of an authority of the program. */
  readonly shared: boolean;
  /** Accounts in the order of Jupiter's IDL; the accounts of the venues follow them. */
  readonly places: readonly Place[];
}

const V2: readonly Place[] = [
  ...([
    'user',
    'source',
    'destination',
    'sourceMint',
    'destinationMint',
    'sourceProgram',
    'destinationProgram',
  ] as const),
  ...(['override', 'event', 'self'] as const),
];
const V2_SHARED: readonly Place[] = [
  ...([
    'authority',
    'user',
    'source',
    'vaultIn',
    'vaultOut',
    'destination',
    'sourceMint',
    'destinationMint',
  ] as const),
  ...(['sourceProgram', 'destinationProgram', 'event', 'self'] as const),
];
const V1: readonly Place[] = [
  'tokenProgram',
  'user',
  'source',
  'destination',
  'override',
  'destinationMint',
  'fee',
  'event',
  'self',
];
const V1_EXACT_OUT: readonly Place[] = [
  ...([
    'tokenProgram',
    'user',
    'source',
    'destination',
    'override',
    'sourceMint',
    'destinationMint',
  ] as const),
  ...(['fee', 'token2022', 'event', 'self'] as const),
];
const V1_SHARED: readonly Place[] = [
  ...([
    'tokenProgram',
    'authority',
    'user',
    'source',
    'vaultIn',
    'vaultOut',
    'destination',
    'sourceMint',
    'destinationMint',
  ] as const),
  ...(['fee', 'token2022', 'event', 'self'] as const),
];

const NAMED = [
  ['route_v2', 2, 'ExactIn', V2],
  ['exact_out_route_v2', 2, 'ExactOut', V2],
  ['shared_accounts_route_v2', 2, 'ExactIn', V2_SHARED],
  ['shared_accounts_exact_out_route_v2', 2, 'ExactOut', V2_SHARED],
  ['route', 1, 'ExactIn', V1],
  ['exact_out_route', 1, 'ExactOut', V1_EXACT_OUT],
  ['shared_accounts_route', 1, 'ExactIn', V1_SHARED],
  ['shared_accounts_exact_out_route', 1, 'ExactOut', V1_SHARED],
] as const;

export type FormName = (typeof NAMED)[number][0];
export const FORM_NAMES: readonly FormName[] = NAMED.map(([name]) => name);

/** Returns Anchor's discriminator: the first eight bytes of a hash of the instruction's name. */
export function discriminator(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`global:${name}`).digest().subarray(0, 8));
}

const formsByName = NAMED.map(([name, version, mode, places]): [FormName, Form] => [
  name,
  {
    ...{ version, discriminator: discriminator(name), mode, places },
    shared: places.includes('authority'),
  },
]);
// `NAMED` has every name.
export const FORMS = Object.fromEntries(formsByName) as Readonly<Record<FormName, Form>>;

/** Content of a swap instruction. */
export interface Terms {
  /** Accounts by place. Jupiter's program id stands for a missing optional account. */
  readonly accounts: Readonly<Record<Place, Address>>;
  /** Base units of the input for `ExactIn`, of the output for `ExactOut`. */
  readonly exact: bigint;
  /** Base units of the other side. */
  readonly quoted: bigint;
  readonly slippageBps: number;
  readonly platformFeeBps: number;
  /** Only V2 forms contain it. */
  readonly positiveSlippageBps: number;
  readonly plan: Uint8Array;
  readonly venues: readonly AccountMeta[];
}

/** Encodes the last 19 bytes of a V1 instruction, which contain the amounts. */
export function numbersV1({ exact, quoted, slippageBps, platformFeeBps }: Terms): Uint8Array {
  return concat(u64(exact), u64(quoted), u16(slippageBps), [platformFeeBps]);
}

function numbersV2(terms: Terms): Uint8Array {
  const { exact, quoted, slippageBps, platformFeeBps, positiveSlippageBps } = terms;
  const bps = [slippageBps, platformFeeBps, positiveSlippageBps];
  return concat(u64(exact), u64(quoted), ...bps.map(u16));
}

function swapData({ discriminator, version, shared }: Form, terms: Terms): Uint8Array {
  const head = concat(discriminator, shared ? [SHARED_ID] : []);
  return version === 1
    ? concat(head, terms.plan, numbersV1(terms))
    : concat(head, numbersV2(terms), terms.plan);
}

export function swapInstruction(form: Form, terms: Terms): FilledInstruction {
  const metas = form.places.map((place): AccountMeta => {
    const key = terms.accounts[place];
    // Only the wallet signs here. Another key does not, because the attack names a user without a
    // signature.
    if (place === 'user' && key === WALLET) return signer(key);
    return WRITABLE.has(place) && key !== PROGRAMS.jupiter ? writable(key) : readonly(key);
  });
  return instruction(PROGRAMS.jupiter, [...metas, ...terms.venues], swapData(form, terms));
}

/** A step of a route: the number of a venue's kind in Jupiter's `Swap` enum, and its fields. */
export interface Step {
  readonly swap: readonly number[];
}

/** `Raydium`, without fields. */
export const RAYDIUM: Step = { swap: [7] };
/** `Whirlpool { a_to_b: true }`. */
export const WHIRLPOOL: Step = { swap: [17, 1] };

/** Encodes a route of sequential steps, each for the whole amount. */
export function routePlan(version: Form['version'], steps: readonly Step[]): Uint8Array {
  const whole = version === 1 ? [100] : u16(10_000);
  return concat(
    u32(steps.length),
    ...steps.map(({ swap }, index) => concat(swap, whole, [index, index + 1])),
  );
}
