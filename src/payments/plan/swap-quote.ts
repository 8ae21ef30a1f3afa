import { ceilDiv, parseAmount, WHOLE } from '../../amount.js';
import type { ResolvedRequest } from '../../config/swap-request.js';
import { FundsError, isExactChangeError, PolicyError, QuoteError } from '../../errors.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import {
  checkFields,
  checkImpact,
  checkQuote,
  quoteRefused,
} from '../../swaps/quote/check-quote.js';
import type { Candidate } from '../../swaps/quote/candidates.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import type { SwapQuote } from '../../swaps/types.js';
import { amountText } from '../../token-text.js';
import type { PaymentContext } from '../context.js';
import { usdPriceOf } from './usd-price.js';
import { atPar, type UsdPrice } from './usd-value.js';

// A tenth of a cent, about the swap's network fee. A limit in basis points alone would refuse small
// amounts, because rounding takes a larger share of them.
const SLACK_MICRO_USD = 1_000n;

/** A quoted swap out of a token of the wallet. */
export interface QuotedSwap {
  readonly inputMint: Address;
  readonly maxInAmount: bigint;
  readonly quote: SwapQuote;
  /** Base units of the input mint that may be spent, however often the swap is quoted again. */
  readonly available: bigint;
  /** Relayer that pays the lamports if the wallet cannot; `maxInAmount` includes its fee. */
  readonly relay?: RelayOffer;
  /** Transaction that a service built along with the quote. */
  readonly built?: unknown;
}

/** A transport's answer to a quote request, or the promise of it. */
export type GivenQuote = Readonly<Record<string, unknown>> | Promise<SwapQuote>;

/**
 * Returns a checked quote for a payment. Caps count the payment's value, so the swap may cost this
 * value and `policy.maxSwapLossBps` more. The quote's own price proves nothing, because the seller
 * may control the token's market.
 *
 * @param given - The transport's answer, if the quote was requested already.
 */
export async function quoteForPayment(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<SwapQuote> {
  const { inputMint, outputMint } = request;
  // Request prices in parallel with the quote, so that they cost no time.
  const worths = Promise.all(
    [inputMint, outputMint].map((mint) => worthFor(context, inputMint, mint, signal)),
  );
  worths.catch(() => undefined);
  const quote = await askQuote(context, request, signal, given);
  const [input, output] = await worths;
  if (input !== undefined && output !== undefined)
    checkLoss(quote, input, output, context.config.policy.maxSwapLossBps);
  else if (!context.config.policy.maxInAmount.has(inputMint))
    throw priceUnknown(input === undefined ? inputMint : outputMint);
  return quote;
}

/**
 * Returns a quote for a swap that the caller requested itself. Does not check its value in dollars.
 * Compares a service's quote with a quote of the client's own Jupiter; if that gives none, accepts
 * the service's quote only if the caller bounds the input.
 */
export async function quoteByName(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  if (context.prices === context.transport) return askQuote(context, request, signal);
  const bounded = context.config.policy.maxInAmount.has(request.inputMint);
  const askingOwn = context.prices.quote(request, { signal }).then(
    (own) => {
      checkAnswer(context, own, request);
      return own;
    },
    (error: unknown) => {
      if (bounded && isExactChangeError(error)) return undefined;
      throw error;
    },
  );
  askingOwn.catch(() => undefined);
  const quote = await askQuote(context, request, signal);
  const own = await askingOwn;
  if (own !== undefined) checkAgainst(quote, own, context.config.policy.maxSwapLossBps);
  return quote;
}

export async function quoteFrom(
  context: PaymentContext,
  { mint, available }: Candidate,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<QuotedSwap> {
  const quote = await quoteForPayment(context, request, signal, given);
  checkAvailable(context.config.network, quote, available);
  return { inputMint: mint, maxInAmount: BigInt(quote.maxInAmount), quote, available };
}

/** Throws `insufficient_funds` if a swap would take more than may be spent. */
export function checkAvailable(
  network: string,
  { inputMint, maxInAmount }: SwapQuote,
  available: bigint,
): void {
  if (BigInt(maxInAmount) <= available) return;
  throw new FundsError(
    'insufficient_funds',
    `The swap would take up to ${amountText(network, inputMint, BigInt(maxInAmount))}, and ${amountText(network, inputMint, available)} can be spent. Fund the wallet.`,
    { details: { mint: inputMint, required: maxInAmount, available: available.toString() } },
  );
}

/**
 * Requests a quote from the transport, which is not trusted. Throws unless the quote answers the
 * request and keeps the policy.
 */
async function askQuote(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<SwapQuote> {
  const answer = (await given) ?? (await context.transport.quote(request, { signal }));
  // Copy the answer, so that later changes cannot bypass the checks. `checkAnswer` checks the
  // asserted type.
  const quote = { ...answer } as SwapQuote;
  checkAnswer(context, quote, request);
  // Limit the time to now, because a quote from a clock that is ahead would never expire.
  return { ...quote, quotedAt: Math.min(quote.quotedAt, context.config.runtime.now()) };
}

function checkAnswer(context: PaymentContext, quote: SwapQuote, request: ResolvedRequest): void {
  const { policy, network } = context.config;
  checkFit(quote, request);
  checkImpact(quote, policy.maxPriceImpactBps);
  checkPar(quote, policy.maxSwapLossBps, network);
  checkInput(network, quote, policy.maxInAmount);
}

/**
 * Throws `quote_mismatch` unless an answer is a valid quote for the request: a transport may answer
 * anything. Does not check the cost.
 */
export function checkFit(quote: SwapQuote, request: ResolvedRequest): void {
  checkFields(quote);
  const { inputMint, outputMint, slippageBps } = request;
  const amount = BigInt(request.amount);
  // A transport may answer an `ExactOut` request with an `ExactIn` quote that covers the output.
  const sized = request.swapMode === 'ExactOut' && quote.swapMode === 'ExactIn';
  const intent = sized
    ? { swapMode: 'ExactIn' as const, amount: parseAmount(quote.inAmount) ?? 0n }
    : { swapMode: request.swapMode, amount };
  checkQuote(quote, { inputMint, outputMint, slippageBps, ...intent });
  if (request.swapMode === 'ExactOut') checkOutput(quote, amount);
}

// A quote may bring more than requested if it was sized by its input or its units are coarse. The
// limit stops a service that would sell the whole wallet.
const MOST_TIMES = 2n;

function checkOutput({ outAmount, minOutAmount }: SwapQuote, amount: bigint): void {
  if (BigInt(minOutAmount) >= amount && BigInt(outAmount) <= amount * MOST_TIMES) return;
  const short = BigInt(minOutAmount) < amount;
  const reason = short
    ? 'it does not cover the amount that was asked for'
    : 'it brings far more than was asked for';
  throw quoteRefused(reason);
}

async function worthFor(
  context: PaymentContext,
  inputMint: Address,
  mint: Address,
  signal: AbortSignal | undefined,
): Promise<UsdPrice | undefined> {
  try {
    return await usdPriceOf(context, mint, signal);
  } catch (error) {
    if (context.config.policy.maxInAmount.has(inputMint) && isExactChangeError(error))
      return undefined;
    throw error;
  }
}

/**
 * Returns the error for a swap of a token without a price. A retry may help if Jupiter could not be
 * asked, and for SOL, which soon has a route again.
 *
 * @param cause - Why Jupiter could not be asked.
 */
export function priceUnknown(mint: Address, cause?: unknown): PolicyError<'price_unknown'> {
  const isSol = mint === WSOL_MINT;
  const bound = `${isSol ? 'Try again, or set' : 'Set'} policy.maxInAmount for the token to swap from.`;
  return new PolicyError(
    'price_unknown',
    `No price is known for mint ${mint}, so nothing bounds what the swap takes. ${cause === undefined ? bound : 'Jupiter could not be asked; try again.'}`,
    {
      details: { mint },
      retry: isSol || cause !== undefined ? 'fresh' : 'never',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

/** Checks a swap between two dollar tokens. They are worth the same, so it needs no price. */
function checkPar(quote: SwapQuote, limitBps: number, network: string): void {
  const [input, output] = [
    pinnedMint(network, quote.inputMint),
    pinnedMint(network, quote.outputMint),
  ];
  if (input?.dollar !== true || output?.dollar !== true) return;
  checkLoss(quote, atPar(input.decimals), atPar(output.decimals), limitBps);
}

function checkLoss(
  quote: SwapQuote,
  input: Pick<UsdPrice, 'about'>,
  output: Pick<UsdPrice, 'least'>,
  limitBps: number,
): void {
  const paid = input.about(taken(quote));
  const got = output.least(brought(quote));
  if (paid <= SLACK_MICRO_USD + got || got * WHOLE >= paid * (WHOLE - BigInt(limitBps))) return;
  throw tooDear(ceilDiv((paid - got) * WHOLE, paid), limitBps);
}

// Amounts before slippage: `checkQuote` bounds slippage separately, by the same amounts. For
// `ExactOut` the least output counts, because `outAmount` may be more than the quote guarantees.
const taken = ({ inAmount }: SwapQuote): bigint => BigInt(inAmount);
const brought = ({ swapMode, outAmount, minOutAmount }: SwapQuote): bigint =>
  BigInt(swapMode === 'ExactIn' ? outAmount : minOutAmount);

/** Throws `swap_overhead_too_high` if the quote's rate is too far below the own quote's rate. */
function checkAgainst(quote: SwapQuote, own: SwapQuote, limitBps: number): void {
  const paid = taken(quote) * brought(own);
  const got = brought(quote) * taken(own);
  if (got * WHOLE >= paid * (WHOLE - BigInt(limitBps))) return;
  throw tooDear(ceilDiv((paid - got) * WHOLE, paid), limitBps);
}

function tooDear(lossBps: bigint, limitBps: number): QuoteError {
  return new QuoteError(
    'swap_overhead_too_high',
    `The swap would lose ${lossBps} basis points besides slippage; policy.maxSwapLossBps is ${limitBps}. Try later, or raise it.`,
    { details: { lossBps: Number(lossBps), limitBps } },
  );
}

/** Throws `amount_over_limit` if a swap may take more than the caller's `policy.maxInAmount`. */
export function checkInput(
  network: string,
  { inputMint, maxInAmount }: Pick<SwapQuote, 'inputMint' | 'maxInAmount'>,
  caps: ReadonlyMap<string, bigint>,
): void {
  const limit = caps.get(inputMint);
  if (limit === undefined || BigInt(maxInAmount) <= limit) return;
  throw new PolicyError(
    'amount_over_limit',
    `The swap would take up to ${amountText(network, inputMint, BigInt(maxInAmount))}; policy.maxInAmount is ${amountText(network, inputMint, limit)}. Raise it if the price is right.`,
    {
      details: {
        cap: 'maxInAmount',
        limit: limit.toString(),
        amount: maxInAmount,
        unit: inputMint,
      },
    },
  );
}
