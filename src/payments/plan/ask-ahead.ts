import type { ResolvedRequest } from '../../config/swap-request.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { Candidate } from '../../swaps/quote/candidates.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { candidatesByValue, candidatesIn, firstThatPays } from './candidate-queue.js';
import { likelyHoldings } from './holdings.js';
import type { OwnFacts } from './offer-accounts.js';
import { floatOf } from './usd-price.js';

/** A quote that was asked for before it was known that it is needed. */
export interface QuoteAhead {
  /** Undefined for what was not asked. */
  of(request: ResolvedRequest): Promise<SwapQuote> | undefined;
}

/** As a search for a swap has them. */
interface AheadOptions {
  readonly signal?: AbortSignal | undefined;
  readonly except?: ReadonlySet<Address> | undefined;
  readonly exact?: boolean | undefined;
}

/**
 * Asks for a quote of the swap that is most likely, out of the tokens that the wallet held lately,
 * while its tokens of now are read: that is one round trip less, or, if the guess was wrong, a
 * quote more. Undefined if there is nothing to guess by.
 */
export async function quoteAhead(
  context: PaymentContext,
  mint: Address,
  facts: OwnFacts,
  missing: bigint,
  { signal, except, exact }: AheadOptions,
): Promise<QuoteAhead | undefined> {
  const holdings = likelyHoldings(context);
  // Only into what is pinned are several compared; SOL is wrapped, and a distant service plans more
  // at once.
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
  // Whether it is needed shows later.
  quote.catch(() => undefined);
  return { of: (request) => (nameOf(request) === nameOf(likely) ? quote : undefined) };
}

const noOthers = (): Promise<readonly Candidate[]> => Promise.resolve([]);

/** Base units that are asked for at first, then those that do, if the first are too many. */
export async function amountsFor(
  context: PaymentContext,
  mint: Address,
  { decimals }: OwnFacts,
  missing: bigint,
  exact: boolean | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly [bigint, ...bigint[]]> {
  const float = exact === true ? 0n : await floatOf(context, mint, decimals, signal);
  return float > missing ? [float, missing] : [missing];
}

/** What is asked of a transport to bring an amount out of a candidate. */
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

const nameOf = ({ inputMint, outputMint, amount }: ResolvedRequest): string =>
  `${inputMint} ${outputMint} ${amount}`;
