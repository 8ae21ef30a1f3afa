import type { AccountMeta, Address } from '@solana/kit';
import type { Draft } from './build.js';
import {
  EVENT_AUTHORITY,
  MINTS,
  PROGRAMS,
  SHARED_AUTHORITY,
  WALLET,
  own,
  tokenProgramOf,
} from './addresses.js';
import {
  FORMS,
  RAYDIUM,
  WHIRLPOOL,
  routePlan,
  swapInstruction,
  type Form,
  type FormName,
  type Terms,
} from './forms.js';
import {
  closeAccount,
  createAccount,
  readonly,
  signer,
  syncNative,
  transferSol,
  unitLimit,
  unitPrice,
  writable,
  type FilledInstruction,
} from './instructions.js';
import { POOLS, TABLES, TABLE_ENTRIES } from './world.js';

/** Terms that the user agreed to, by which the swap is judged. */
export interface Expectation {
  readonly wallet: Address;
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly inputProgram: Address;
  readonly outputProgram: Address;
  /** Most base units of the input. */
  readonly maxIn: bigint;
  /** Least base units of the output. */
  readonly minOut: bigint;
  readonly slippageBps: number;
  /** Lamports. */
  readonly maxPriorityFee: bigint;
}

interface Direction {
  readonly input: Address;
  readonly output: Address;
  /** Base units. */
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  /** Mints for which the transaction creates the wallet's account. */
  readonly creates: readonly Address[];
  readonly wraps: boolean;
  readonly unwraps: boolean;
}

export type DirectionName =
  'usdc-usdt' | 'sol-usdc' | 'usdc-sol' | 'usdc-pyusd' | 'pyusd-usdc' | 'usdc-wsol' | 'wsol-usdc';

const { usdc, usdt, wsol, pyusd } = MINTS;
const plain = { creates: [], wraps: false, unwraps: false };
const ofSol = { creates: [wsol], wraps: false, unwraps: true };
const dollars = { inAmount: 100_000_000n, outAmount: 99_900_000n };
const buysSol = { inAmount: 75_000_000n, outAmount: 500_000_000n };
const sellsSol = { inAmount: 500_000_000n, outAmount: 75_000_000n };

export const DIRECTIONS: Readonly<Record<DirectionName, Direction>> = {
  'usdc-usdt': { input: usdc, output: usdt, ...dollars, ...plain },
  'sol-usdc': { input: wsol, output: usdc, ...sellsSol, ...ofSol, wraps: true },
  'usdc-sol': { input: usdc, output: wsol, ...buysSol, ...ofSol },
  'usdc-pyusd': { input: usdc, output: pyusd, ...dollars, ...plain, creates: [pyusd] },
  'pyusd-usdc': { input: pyusd, output: usdc, ...dollars, ...plain },
  /** The output is wrapped SOL that stays wrapped. */
  'usdc-wsol': { input: usdc, output: wsol, ...buysSol, ...plain, creates: [wsol] },
  'wsol-usdc': { input: wsol, output: usdc, ...sellsSol, ...plain },
};
// `DIRECTIONS` has every name.
export const DIRECTION_NAMES = Object.keys(DIRECTIONS) as readonly DirectionName[];

const SLIPPAGE_BPS = 50;

/** The parts of an honest transaction. */
export interface Base {
  readonly form: FormName;
  readonly direction: DirectionName;
  readonly expected: Expectation;
  readonly terms: Terms;
  readonly compute: readonly FilledInstruction[];
  readonly setup: readonly FilledInstruction[];
  readonly swap: FilledInstruction;
  readonly cleanup: readonly FilledInstruction[];
  readonly tables: NonNullable<Draft['tables']>;
}

export function base(form: FormName, direction: DirectionName, withTables: boolean): Base {
  const { input, output, inAmount, outAmount, creates, wraps, unwraps } = DIRECTIONS[direction];
  const exactIn = FORMS[form].mode === 'ExactIn';
  const expected = {
    ...{
      wallet: WALLET,
      inputMint: input,
      outputMint: output,
      slippageBps: SLIPPAGE_BPS,
      maxPriorityFee: 100_000n,
    },
    ...{ inputProgram: tokenProgramOf(input), outputProgram: tokenProgramOf(output) },
    maxIn: exactIn ? inAmount : (inAmount * 10_050n) / 10_000n,
    minOut: exactIn ? (outAmount * 9_950n) / 10_000n : outAmount,
  };
  const terms: Terms = {
    accounts: places(expected),
    exact: exactIn ? inAmount : outAmount,
    quoted: exactIn ? outAmount : inAmount,
    ...{ slippageBps: SLIPPAGE_BPS, platformFeeBps: 0, positiveSlippageBps: 0 },
    plan: routePlan(FORMS[form].version, [withTables ? WHIRLPOOL : RAYDIUM]),
    venues: withTables ? whirlpool(expected) : raydium(expected),
  };
  return {
    ...{ form, direction, expected, terms },
    compute: [unitLimit(77_426), unitPrice(161_977n)],
    setup: [
      ...creates.map(createOwn),
      ...(wraps ? [transferSol(WALLET, own(wsol), expected.maxIn), syncNative(own(wsol))] : []),
    ],
    swap: swapInstruction(FORMS[form], terms),
    cleanup: unwraps ? [closeAccount(own(wsol), WALLET, WALLET)] : [],
    tables: withTables
      ? { [TABLES.venues]: [...TABLE_ENTRIES.venues], [TABLES.common]: [...TABLE_ENTRIES.common] }
      : {},
  };
}

/** Returns the instructions in Jupiter's order. */
export function instructionsOf({ compute, setup, swap, cleanup }: Base): FilledInstruction[] {
  return [...compute, ...setup, swap, ...cleanup];
}

export function createOwn(mint: Address): FilledInstruction {
  return createAccount({
    payer: WALLET,
    account: own(mint),
    owner: WALLET,
    mint,
    tokenProgram: tokenProgramOf(mint),
  });
}

function places({
  inputMint,
  outputMint,
  inputProgram,
  outputProgram,
}: Expectation): Terms['accounts'] {
  const none = PROGRAMS.jupiter;
  return {
    ...{
      user: WALLET,
      source: own(inputMint),
      destination: own(outputMint),
      override: none,
      fee: none,
    },
    ...{
      sourceMint: inputMint,
      destinationMint: outputMint,
      sourceProgram: inputProgram,
      destinationProgram: outputProgram,
    },
    // V1 forms always name the older token program. They also name Token-2022 if a mint belongs to
    // it.
    tokenProgram: PROGRAMS.token,
    token2022: [inputProgram, outputProgram].includes(PROGRAMS.token2022)
      ? PROGRAMS.token2022
      : none,
    ...{
      authority: SHARED_AUTHORITY,
      vaultIn: POOLS.shared.vaultIn,
      vaultOut: POOLS.shared.vaultOut,
    },
    ...{ event: EVENT_AUTHORITY, self: PROGRAMS.jupiter },
  };
}

/** Accounts of the Raydium venue. They name the wallet, so the venue gets its signature. */
function raydium({ inputMint, outputMint }: Expectation): AccountMeta[] {
  const { amm, authority, openOrders, vaultIn, vaultOut } = POOLS.raydium;
  const pool = [
    writable(amm),
    readonly(authority),
    writable(openOrders),
    writable(vaultIn),
    writable(vaultOut),
  ];
  return [
    readonly(PROGRAMS.raydium),
    ...pool,
    writable(own(inputMint)),
    writable(own(outputMint)),
    signer(WALLET),
  ];
}

function whirlpool({ inputMint, outputMint }: Expectation): AccountMeta[] {
  const { pool, oracle, ticks, vaultIn, vaultOut } = POOLS.whirlpool;
  const sides = [
    writable(own(inputMint)),
    writable(vaultIn),
    writable(own(outputMint)),
    writable(vaultOut),
  ];
  return [
    readonly(PROGRAMS.whirlpool),
    signer(WALLET),
    writable(pool),
    ...sides,
    ...ticks.map(writable),
    readonly(oracle),
  ];
}

/** Returns the transaction with a changed swap. */
export function withTerms(
  base: Base,
  change: (terms: Terms) => Partial<Terms>,
  form: Form = FORMS[base.form],
): Base {
  const terms = { ...base.terms, ...change(base.terms) };
  return { ...base, terms, swap: swapInstruction(form, terms) };
}

export function draftOf(
  base: Base,
  instructions: readonly FilledInstruction[] = instructionsOf(base),
): Draft {
  return { instructions, tables: base.tables };
}
