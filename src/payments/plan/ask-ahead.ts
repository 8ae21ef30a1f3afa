import type { ResolvedRequest } from '../../config/swap-request.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { Candidate } from '../../swaps/quote/candidates.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { candidatesByValue, candidatesIn, firstThatPays } from './candidate-queue.js';
import { likelyHoldings } from './holdings.js';
import type { OwnFacts } from './offer-accounts.js';
import { minSwapOf } from './usd-price.js';

/**
 * Returns a quote that was requested before the search for a swap needed it; undefined if a
 * different request was sent ahead.
 */
export type QuoteAhead = (request: ResolvedRequest) => Promise<SwapQuote> | undefined;

export interface SearchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Mints not to swap from, because a swap out of them has failed (see `concernsCandidate`). */
  readonly except?: ReadonlySet<Address>;
  /** Swaps only for the missing amount, even if it is below `policy.minSwap`. */
  readonly exact?: boolean;
}

/**
 * Requests a quote of the most likely swap, by the tokens that the wallet held lately, while its
 * current tokens are read. A right guess saves a round trip; a wrong guess costs a quote. Returns
 * undefined if there is no basis for a guess.
 */
export async function quoteAhead(
  context: PaymentContext,
  mint: Address,
  facts: OwnFacts,
  missing: bigint,
  { signal, except, exact }: SearchOptions,
): Promise<QuoteAhead | undefined> {
  const holdings = likelyHoldings(context);
  // Guess only for swaps that compare quotes: swaps into a pinned mint. SOL is wrapped without a
  // quote, and a distant service gives a quote and its transaction in one call.
  const isLikely =
    mint !== WSOL_MINT &&
    pinnedMint(context.config.network, mint) !== undefined &&
    context.transport.distant !== true;
  if (holdings === undefined || !isLikely) return undefined;
  const candidates = await candidatesIn(context, holdings, mint, except);
  const { comparable } = candidatesByValue(context, candidates, noOthers, signal);
  const [amount] = await amountsFor(context, mint, facts, missing, exact, signal);
  const candidate = await firstThatPays(context, comparable, mint, amount, signal);
  if (candidate === undefined) return undefined;
  const likely = requestFor(context, candidate, mint, amount);
  const quote = context.transport.quote(likely, { signal });
  // The search handles a failure only if it needs this quote.
  quote.catch(() => undefined);
  return (request) => (keyOf(request) === keyOf(likely) ? quote : undefined);
}

const noOthers = (): Promise<readonly Candidate[]> => Promise.resolve([]);

/**
 * Returns the base units to request, in the order in which to try them: `policy.minSwap`, then the
 * missing amount, in case no candidate affords so much.
 */
export async function amountsFor(
  context: PaymentContext,
  mint: Address,
  { decimals }: OwnFacts,
  missing: bigint,
  exact: boolean | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly [bigint, ...bigint[]]> {
  const minSwap = exact === true ? 0n : await minSwapOf(context, mint, decimals, signal);
  return minSwap > missing ? [minSwap, missing] : [missing];
}

export function requestFor(
  { config }: PaymentContext,
  { mint: inputMint }: Pick<Candidate, 'mint'>,
  outputMint: Address,
  amount: bigint,
): ResolvedRequest {
  return {
    inputMint,
    outputMint,
    amount: amount.toString(),
    swapMode: 'ExactOut',
    slippageBps: config.policy.maxSlippageBps,
  };
}

const keyOf = ({ inputMint, outputMint, amount }: ResolvedRequest): string =>
  `${inputMint} ${outputMint} ${amount}`;
