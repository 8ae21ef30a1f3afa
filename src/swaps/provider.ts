import type { Runtime } from '../internal/runtime.js';
import type { Address, Instruction } from '../solana/types.js';
import type { Rule } from './firewall/rule.js';
import type { SwapMode, SwapQuote } from './types.js';

/**
 * Where swaps come from: what asks for them, and what reads the instruction that it gives. Jupiter
 * is one; another is a folder beside it and a place in the list of `sources.ts`. Whatever it says,
 * the rest of the transaction is composed here, and bounded by rules that no source may loosen.
 */
export interface SwapSource {
  readonly decoder: SwapDecoder;
  /**
   * Loads what asks it.
   *
   * @param taker - For which wallet prices are asked as long as none is known.
   */
  readonly connect: (settings: SourceSettings, taker: Address) => Promise<SwapProvider>;
}

/** What sources are configured by; each takes what is its own. */
export interface SourceSettings {
  readonly jupiterUrl: string;
  readonly jupiterApiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds. */
  readonly timeouts: { readonly jupiter: number };
  readonly runtime: Runtime;
}

/** A swap that a provider is asked for: addresses resolved, amounts checked. */
export interface QuoteIntent {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly amount: bigint;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
  /**
   * Fewer accounts make a smaller transaction and a worse price; only set after one was too large.
   */
  readonly maxAccounts?: number;
}

/**
 * What a provider contributes to the transaction: one instruction of its program, and the lookup
 * tables it likes. We compose the rest.
 */
export interface SwapBuild {
  readonly instruction: Instruction;
  readonly lookupTables: readonly Address[];
}

/**
 * Asks one service for swaps; its answers are hints. Rejects with `QuoteError` (`no_route`), or
 * `TransportError` (`jupiter_unavailable`, `rate_limited`, `timeout`, `invalid_response`); a 429 is
 * never `no_route`.
 */
export interface SwapProvider {
  readonly id: string;
  readonly supportsExactOut: boolean;
  /**
   * A quote for exactly this intent. An `ExactOut` intent is refused with `no_route` if
   * {@link supportsExactOut} is false.
   */
  quote(intent: QuoteIntent, signal?: AbortSignal): Promise<SwapQuote>;
  /** Throws `quote_mismatch` for a quote that is not its own. */
  build(quote: SwapQuote, wallet: Address, signal?: AbortSignal): Promise<SwapBuild>;
}

/** Reads the swap instructions of one program: what it does not understand is refused. Pure. */
export interface SwapDecoder {
  readonly id: string;
  /** Its name, as people know it. */
  readonly name: string;
  readonly programId: Address;
  /** What must hold of its instructions besides what must of every swap; checked before that. */
  readonly rules: readonly Rule<Instruction>[];
  /** Undefined if anything of it is not understood. */
  decode(instruction: Instruction): SwapCall | undefined;
  /**
   * The account for the SOL of one swap, if an instruction makes it for this wallet, in the one
   * form that is known.
   */
  temporaryOf?(instruction: Instruction, wallet: Address): Address | undefined;
  /** The name of an error of the program, if it says what to do. */
  errorName(code: number): string | undefined;
  /**
   * Whether a transaction failed because the price moved, by the error that a simulation or the
   * chain gave as its reason: a new quote may do.
   */
  isPriceMoved(reason: string): boolean;
}

/** A swap instruction, read. */
export interface SwapCall {
  readonly user: Address;
  readonly source: Address;
  readonly destination: Address;
  /** An account that gets the output instead. */
  readonly destinationOverride: Address | undefined;
  /** Undefined if the form does not name it: the source account is of one mint only. */
  readonly sourceMint: Address | undefined;
  readonly destinationMint: Address;
  /** Undefined if the form does not say for which side its token programs are, as is the other. */
  readonly sourceProgram: Address | undefined;
  readonly destinationProgram: Address | undefined;
  /** The token programs of such a form. */
  readonly eitherProgram: readonly Address[];
  readonly feeAccount: Address | undefined;
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
