import type { AccountMeta, Address, Instruction, ReadonlyUint8Array } from '@solana/kit';

export const VENUE: Address;
export const POOL_AUTHORITY: Address;
export const EVENT_AUTHORITY: Address;
export const PROGRAM_AUTHORITIES: readonly Address[];
export const MODE: {
  readonly approve: 1;
  readonly setOwner: 2;
  readonly setCloseAuthority: 3;
  readonly assignWallet: 4;
  readonly drainOther: 5;
  readonly underpay: 6;
  readonly takeSol: 7;
  readonly onlyWhenLate: 8;
  readonly closeAccount: 9;
  readonly overcharge: 10;
  readonly misdirect: 11;
  readonly fail: 12;
  readonly burnCompute: 13;
};
export const TARGET: { readonly default: 0; readonly source: 1; readonly destination: 2; readonly other: 3 };
export const FLAG: { readonly exactOut6017: 1; readonly noEvent: 2 };
export const ERROR: {
  readonly notEnoughAccountKeys: 6008;
  readonly slippageToleranceExceeded: 6001;
  readonly exactOutAmountNotMatched: 6017;
  readonly insufficientFunds: 6024;
  readonly invalidSlippage: 6004;
  readonly incorrectTokenProgramId: 6014;
  readonly sameMint: 6018;
  readonly accountNotSigner: 3010;
  readonly accountNotInitialized: 3012;
  readonly fallbackNotFound: 101;
  readonly didNotDeserialize: 102;
};
export const CONFIG_SIZE: 80;

/** The program's bytes, read from beside this module. */
export function venueBytes(): Uint8Array;

export interface VenueConfig {
  readonly modes?: readonly number[];
  readonly target?: number;
  readonly flags?: number;
  readonly deviationBps?: number | bigint;
  readonly lateDeviationBps?: number | bigint;
  readonly afterSlot?: number | bigint;
  readonly amount?: number | bigint;
  readonly attacker?: Address;
}

export function configData(config?: VenueConfig): Uint8Array;

/** The accounts and options that every kind of swap has. */
export interface VenueSwap {
  readonly user: Address;
  readonly source: Address;
  readonly destination: Address;
  readonly sourceMint: Address;
  readonly destinationMint: Address;
  readonly sourceProgram: Address;
  readonly destinationProgram: Address;
  readonly vaultIn: Address;
  readonly vaultOut: Address;
  readonly override?: Address | undefined;
  readonly config?: Address | undefined;
  /** Bare addresses are passed writable. */
  readonly extra?: readonly (Address | AccountMeta)[] | undefined;
  readonly slippageBps?: number | undefined;
  readonly platformFeeBps?: number | undefined;
  readonly positiveSlippageBps?: number | undefined;
  readonly routePlan?: Uint8Array | undefined;
}

export interface ExactInAmounts {
  readonly inAmount: bigint;
  readonly quotedOutAmount: bigint;
}

export interface ExactOutAmounts {
  readonly outAmount: bigint;
  readonly quotedInAmount: bigint;
}

export interface VenueInstruction extends Instruction {
  readonly programAddress: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyUint8Array;
}

export function routeV2(swap: VenueSwap & ExactInAmounts): VenueInstruction;
export function exactOutRouteV2(swap: VenueSwap & ExactOutAmounts): VenueInstruction;
export function sharedAccountsRouteV2(swap: VenueSwap & ExactInAmounts & { readonly id: number }): VenueInstruction;
export function sharedAccountsExactOutRouteV2(swap: VenueSwap & ExactOutAmounts & { readonly id: number }): VenueInstruction;
