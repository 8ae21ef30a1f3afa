import { ceilDiv, parseAmount } from '../../amount.js';
import type { ResolvedRequest } from '../../config/swap-request.js';
import { FundsError, isExactChangeError, PolicyError, QuoteError } from '../../errors.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { checkFields, checkImpact, checkQuote } from '../../swaps/quote/check-quote.js';
import type { SwapQuote } from '../../swaps/types.js';
import { amountText } from '../../token-text.js';
import type { PaymentContext } from '../context.js';
import { usdPriceOf } from './usd-price.js';
import { atPar, type UsdPrice } from './usd-value.js';

const WHOLE = 10_000n;

// A tenth of a cent, about what the swap's network fee costs anyway: small amounts are rounded by
// more than any share of them.
const SLACK_MICRO_USD = 1_000n;

/** What a transport answered, or will if it was asked. */
export type GivenQuote = Readonly<Record<string, unknown>> | Promise<SwapQuote>;

/**
 * A quote for a payment. Caps count what the payment is worth, so the swap for it may cost that and
 * `policy.maxSwapLossBps`: what a token costs to buy says nothing, for its market may be the
 * seller's own.
 *
 * @param given - The transport's answer, if it was asked already.
 */
export async function quoteForPayment(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<SwapQuote> {
  const { inputMint, outputMint } = request;
  // Asked for along with the quote, so that they cost no time.
  const worths = Promise.all(
    [inputMint, outputMint].map((mint) => worthFor(context, inputMint, mint, signal)),
  );
  worths.catch(() => undefined);
  const quote = await askQuote(context, request, signal, given);
  const [input, output] = await worths;
  if (input !== undefined && output !== undefined)
    checkLoss(quote, input, output, context.config.policy.maxSwapLossBps);
  else if (!context.config.policy.maxInAmount.has(inputMint))
    throw unknown(input === undefined ? inputMint : outputMint);
  return quote;
}

/**
 * A quote for a swap that the caller asked for by name. It is not valued; but a service's quote is
 * held against our own Jupiter's for the same swap, unless the caller bounds the input.
 */
export async function quoteByName(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  if (context.prices === context.transport) return askQuote(context, request, signal);
  const bounded = context.config.policy.maxInAmount.has(request.inputMint);
  const asked = context.prices.quote(request, { signal }).then(
    (own) => {
      checkAnswer(context, own, request);
      return own;
    },
    (error: unknown) => {
      if (bounded && isExactChangeError(error)) return undefined;
      throw error;
    },
  );
  asked.catch(() => undefined);
  const quote = await askQuote(context, request, signal);
  const own = await asked;
  if (own !== undefined) checkAgainst(quote, own, context.config.policy.maxSwapLossBps);
  return quote;
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
 * Asks the transport, and believes nothing: the quote must answer the request and keep within the
 * policy.
 */
async function askQuote(
  context: PaymentContext,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<SwapQuote> {
  // A copy: what is checked must be what is swapped.
  // Typed as one or not, it is checked next.
  const answer = (await given) ?? (await context.transport.quote(request, { signal }));
  const quote = { ...answer } as SwapQuote;
  checkAnswer(context, quote, request);
  // A quote from a clock that is ahead would never be too old.
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
 * Throws `quote_mismatch` unless a quote is one, and for what was asked: a transport may answer
 * anything. What it costs is not judged.
 */
export function checkFit(quote: SwapQuote, request: ResolvedRequest): void {
  checkFields(quote);
  const { inputMint, outputMint, slippageBps } = request;
  const amount = BigInt(request.amount);
  // An exact output may be answered with an input whose least output covers it.
  const sized = request.swapMode === 'ExactOut' && quote.swapMode === 'ExactIn';
  const intent = sized
    ? { swapMode: 'ExactIn' as const, amount: parseAmount(quote.inAmount) ?? 0n }
    : { swapMode: request.swapMode, amount };
  checkQuote(quote, { inputMint, outputMint, slippageBps, ...intent });
  if (request.swapMode === 'ExactOut') checkOutput(quote, amount);
}

// An input that is sized, or rounded to coarse units, brings more than was asked for; a service
// might sell the whole wallet.
const MOST_TIMES = 2n;

function checkOutput({ outAmount, minOutAmount }: SwapQuote, amount: bigint): void {
  if (BigInt(minOutAmount) >= amount && BigInt(outAmount) <= amount * MOST_TIMES) return;
  const short = BigInt(minOutAmount) < amount;
  const reason = short
    ? 'it does not cover the amount that was asked for'
    : 'it brings far more than was asked for';
  throw new QuoteError('quote_mismatch', `The quote was refused: ${reason}. Quote again.`, {
    details: { reason },
  });
}

/**
 * Undefined if there is no price, or, for an input that the caller bounds in base units, if
 * none could be asked for.
 */
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

function unknown(mint: Address): PolicyError {
  return new PolicyError(
    'price_unknown',
    `No price is known for mint ${mint}, so nothing bounds what the swap would lose. Set policy.maxInAmount for the token to swap from.`,
    { details: { mint } },
  );
}

/**
 * Two dollar tokens are worth the same, so what a swap between them loses is known without any
 * price.
 */
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

// Before slippage, which has its own bound: checkQuote has held it against the amount that is used
// here. An exact output may say to bring more than it promises.
const taken = ({ inAmount }: SwapQuote): bigint => BigInt(inAmount);
const brought = ({ swapMode, outAmount, minOutAmount }: SwapQuote): bigint =>
  BigInt(swapMode === 'ExactIn' ? outAmount : minOutAmount);

/** Holds the rate of a quote against another's. */
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

/** The caller's own bound, whatever prices say. Throws `amount_over_limit`. */
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
