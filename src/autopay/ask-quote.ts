import { parseAmount } from '../amount.js';
import type { ResolvedRequest } from '../config.js';
import { PolicyError, QuoteError } from '../errors.js';
import { pinnedMint } from '../network.js';
import { checkImpact, checkQuote } from '../swap/check-quote.js';
import type { SwapQuote } from '../swap/types.js';
import type { Core } from './core.js';

/** Asks the transport, and believes nothing: the quote must answer the request and keep within the policy. */
export async function askQuote(core: Core, request: ResolvedRequest, signal: AbortSignal | undefined): Promise<SwapQuote> {
  const quote = await core.transport.quote(request, { signal });
  checkAnswer(core, quote, request);
  return quote;
}

/** As {@link askQuote}, for a quote that is there already. */
export function checkAnswer(core: Core, quote: SwapQuote, request: ResolvedRequest): void {
  const { policy, network } = core.config;
  const { inputMint, outputMint, slippageBps } = request;
  const amount = BigInt(request.amount);
  // An exact output may be answered with an input whose least output covers it.
  const sized = request.swapMode === 'ExactOut' && quote.swapMode === 'ExactIn';
  const intent = sized
    ? { swapMode: 'ExactIn' as const, amount: parseAmount(quote.inAmount) ?? 0n }
    : { swapMode: request.swapMode, amount };
  checkQuote(quote, { inputMint, outputMint, slippageBps, ...intent });
  checkImpact(quote, policy.maxPriceImpactBps);
  if (BigInt(quote.minOutAmount) < amount && request.swapMode === 'ExactOut') {
    const reason = 'it does not cover the amount that was asked for';
    throw new QuoteError('quote_mismatch', `The quote was refused: ${reason}. Quote again.`, { details: { reason } });
  }
  checkPar(quote, policy.maxSwapLossBps, network);
  checkInput(quote, policy.maxInAmount);
}

/** Two dollar tokens are worth the same, so what a swap between them loses is known without any price. */
function checkPar(quote: SwapQuote, limitBps: number, network: string): void {
  const [input, output] = [pinnedMint(network, quote.inputMint), pinnedMint(network, quote.outputMint)];
  if (input?.dollar !== true || output?.dollar !== true) return;
  const paid = BigInt(quote.inAmount) * 10n ** BigInt(output.decimals);
  const got = BigInt(quote.outAmount) * 10n ** BigInt(input.decimals);
  if (got * 10_000n >= paid * BigInt(10_000 - limitBps)) return;
  const lossBps = Number(((paid - got) * 10_000n) / paid);
  throw new QuoteError(
    'swap_overhead_too_high',
    `The swap between two dollar tokens would lose ${lossBps} basis points; policy.maxSwapLossBps is ${limitBps}. Try later, or raise it.`,
    { details: { lossBps, limitBps } },
  );
}

/** The caller's own bound, whatever prices say. */
function checkInput({ inputMint, maxInAmount }: SwapQuote, caps: ReadonlyMap<string, bigint>): void {
  const limit = caps.get(inputMint);
  if (limit === undefined || BigInt(maxInAmount) <= limit) return;
  throw new PolicyError(
    'amount_over_limit',
    `The swap would take up to ${maxInAmount} base units of ${inputMint}; policy.maxInAmount is ${limit}. Raise it if the price is right.`,
    { details: { cap: 'maxInAmount', limit: limit.toString(), amount: maxInAmount, unit: inputMint } },
  );
}
