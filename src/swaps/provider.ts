import type { Runtime } from '../internal/runtime.js';
import type { Address, Instruction } from '../solana/types.js';
import type { Rule } from './firewall/rule.js';
import type { SwapMode, SwapQuote } from './types.js';

/**
 * A source of swaps: the provider that quotes and builds them, and the decoder of its instructions.
 * A new source is a folder beside `jupiter/` and an entry in `sources.ts`. This library composes the
 * rest of the transaction, and no source may loosen the rules for it.
 */
export interface SwapSource {
  readonly decoder: SwapDecoder;
  /**
   * Loads the provider of this source.
   *
   * @param taker - Wallet to quote for; a placeholder if the client has no wallet.
   */
  readonly connect: (settings: SourceSettings, taker: Address) => Promise<SwapProvider>;
}

/** Settings of all sources; each source reads its own. */
export interface SourceSettings {
  readonly jupiterUrl: string;
  readonly jupiterApiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds. */
  readonly timeouts: { readonly jupiter: number };
  readonly runtime: Runtime;
}

/** A swap to quote: its addresses are resolved and its amount is checked. */
export interface QuoteIntent {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly amount: bigint;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
  /**
   * Accounts that the route may use. Fewer accounts make a smaller transaction and a worse price,
   * so this is only set after a transaction was too large.
   */
  readonly maxAccounts?: number;
}

/**
 * What a provider contributes to the transaction: one instruction of its program, and the lookup
 * tables that it suggests. This library composes the rest.
 */
export interface SwapBuild {
  readonly instruction: Instruction;
  readonly lookupTables: readonly Address[];
}

/** No transaction can hold a larger build. The firewall has the limits of a swap. */
export const buildLimits = { accounts: 256, dataBytes: 1_232, tables: 64 } as const;

/**
 * Quotes and builds swaps with one service; the service's answers are hints. Rejects with
 * `QuoteError` (`no_route`), or `TransportError` (`jupiter_unavailable`, `rate_limited`, `timeout`,
 * `invalid_response`); a 429 is never `no_route`.
 */
export interface SwapProvider {
  readonly id: string;
  /**
   * Returns a quote for exactly this intent. Rejects an `ExactOut` intent with `no_route` if it
   * quotes exact inputs only.
   */
  quote(intent: QuoteIntent, signal?: AbortSignal): Promise<SwapQuote>;
  /** Builds the swap of a quote. Rejects with `quote_mismatch` for a quote of another provider. */
  build(quote: SwapQuote, wallet: Address, signal?: AbortSignal): Promise<SwapBuild>;
}

/** Reads the swap instructions of one program. Pure. */
export interface SwapDecoder {
  readonly id: string;
  /** The program's name, as people know it. */
  readonly name: string;
  readonly programId: Address;
  /** Rules for this program's instructions alone; they run before the rules on the decoded swap. */
  readonly rules: readonly Rule<Instruction>[];
  /** Returns undefined if it does not understand every part of the instruction. */
  decode(instruction: Instruction): SwapCall | undefined;
  /**
   * Returns the temporary SOL account that the instruction makes for this wallet, if it has the one
   * known form. This account holds the SOL of one swap.
   */
  temporaryOf?(instruction: Instruction, wallet: Address): Address | undefined;
  /** Returns the name of a program error; undefined if the name would not help a caller. */
  errorName(code: number): string | undefined;
  /**
   * Whether a transaction failed because the price moved, so that a new quote may succeed.
   *
   * @param reason - Error text of the simulation or of the chain.
   */
  isPriceMoved(reason: string): boolean;
}

export interface SwapCall {
  readonly user: Address;
  readonly source: Address;
  readonly destination: Address;
  /** An account that gets the output instead of `destination`. */
  readonly destinationOverride: Address | undefined;
  /** Undefined if the form does not name it; the source account has only one mint. */
  readonly sourceMint: Address | undefined;
  readonly destinationMint: Address;
  /** Like `destinationProgram`, undefined if the form does not tell the side of a token program. */
  readonly sourceProgram: Address | undefined;
  readonly destinationProgram: Address | undefined;
  /** Token programs of a form that does not tell their side; else empty. */
  readonly eitherProgram: readonly Address[];
  readonly feeAccount: Address | undefined;
  /** Base units: exact for `ExactIn`, quoted for `ExactOut`. */
  readonly inAmount: bigint;
  /** Base units: quoted for `ExactIn`, exact for `ExactOut`. */
  readonly outAmount: bigint;
  /** Base units: the most that the instruction can take. */
  readonly maxIn: bigint;
  /** Base units: the least that the instruction pays out. */
  readonly minOut: bigint;
  readonly slippageBps: number;
  readonly platformFeeBps: number;
  readonly positiveSlippageBps: number;
}
