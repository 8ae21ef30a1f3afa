import type { ResolvedRequest } from '../../config/swap-request.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint } from '../../network.js';
import { decodersOf } from '../../swaps/sources.js';
import { maxAccountsLadder } from '../../swaps/transaction/compose.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';
import { askAbout } from '../plan/funding.js';
import { quoteWithin } from '../plan/quote-within.js';
import { quoteByName, quoteForPayment, checkAvailable } from '../plan/swap-quote.js';
import { swapFailed, type Swapped } from '../reconcile/swap-end.js';
import { swapOnce } from './swap-once.js';
import type { SwapTask } from './swap-task.js';

// A price moves on: from an older quote the swap would mostly fail.
const QUOTE_MAX_AGE_MS = 5_000;

// One more try if the first provably came to nothing.
const MAX_LANDINGS = 2;

/**
 * Swaps and waits for confirmation. A swap that failed over its price, or over a payment that left
 * beside it, or provably never landed, is tried once more with a new quote; one that did not fit a
 * transaction, with fewer accounts.
 */
export async function runSwap(context: PaymentContext, task: SwapTask): Promise<Swapped> {
  const { runtime } = context.config;
  const ladder = [...maxAccountsLadder];
  let { request } = task;
  let { quote, built } = task;
  let maxAgeMs = task.approved === true ? Infinity : QUOTE_MAX_AGE_MS;
  let failed: ExactChangeError<'swap_failed'> | undefined;
  for (let landings = 1; ;) {
    try {
      if (quote === undefined || sinceThen(runtime, quote.quotedAt) > maxAgeMs) {
        built = undefined;
        quote = await quoteAnew(context, request, task);
      }
    } catch (error) {
      throw withFees(error, failed);
    }
    const guard = { isStrict: false };
    const { inputMint, inAmount, maxInAmount, outputMint, outAmount, minOutAmount, provider } =
      quote;
    task.emit('swap.quoted', {
      inputMint,
      inAmount,
      maxInAmount,
      outputMint,
      outAmount,
      minOutAmount,
      provider,
    });
    try {
      const swapped = await swapOnce(context, task, quote, built, guard);
      return { ...swapped, feeLamports: swapped.feeLamports + feesOf(failed) };
    } catch (error) {
      if (isExactChangeError(error)) noteFailure(context, quote);
      const maxAccounts = isExactChangeError(error, 'transaction_too_large')
        ? ladder.shift()
        : undefined;
      if (maxAccounts !== undefined) request = { ...request, maxAccounts };
      else if (landings >= MAX_LANDINGS || !worthAnother(context, error, guard))
        throw withFees(error, failed);
      else landings += 1;
      if (isExactChangeError(error, 'swap_failed')) failed = error;
      quote = undefined;
      maxAgeMs = QUOTE_MAX_AGE_MS;
    }
  }
}

/** A later quote is bound by what the first was. */
async function quoteAnew(
  context: PaymentContext,
  request: ResolvedRequest,
  task: SwapTask,
): Promise<SwapQuote> {
  const { worst } = task;
  if (worst !== undefined)
    return quoteWithin(request, worst, (tighter) => quoteByName(context, tighter, task.signal));
  if (task.quote === undefined) return quoteByName(context, request, task.signal);
  const quote = await askAbout(context, request.outputMint, task.signal, (signal) =>
    quoteForPayment(context, request, signal),
  );
  if (task.available !== undefined) checkAvailable(context.config.network, quote, task.available);
  return quote;
}

/** A stranger's token, with a market of its own, is chosen for its price no more for a while. */
function noteFailure({ config, memory }: PaymentContext, { inputMint }: SwapQuote): void {
  if (pinnedMint(config.network, inputMint) !== undefined) return;
  makeRoom(memory.failedInputs);
  memory.failedInputs.set(inputMint, config.runtime.now());
}

function feesOf(failed: ExactChangeError<'swap_failed'> | undefined): bigint {
  return BigInt(failed?.details.feeLamports ?? 0);
}

/**
 * What the last try ended with, and the fee of a try before it that landed and failed: it is gone,
 * whatever else came of the swap.
 */
function withFees(error: unknown, failed: ExactChangeError<'swap_failed'> | undefined): unknown {
  if (failed === undefined || !isExactChangeError(error) || error.funds !== 'untouched')
    return error;
  if (!isExactChangeError(error, 'swap_failed')) return swapFailed(failed.details, error);
  return swapFailed({
    ...error.details,
    feeLamports: (BigInt(error.details.feeLamports) + feesOf(failed)).toString(),
  });
}

function worthAnother(
  { sources }: PaymentContext,
  error: unknown,
  { isStrict }: { readonly isStrict: boolean },
): boolean {
  if (isExactChangeError(error, 'swap_expired')) return true;
  // A payment that left meanwhile is in what is read for the next.
  if (
    isStrict &&
    (isExactChangeError(error, 'swap_failed') || isExactChangeError(error, 'unsafe_swap'))
  )
    return true;
  return (
    (isExactChangeError(error, 'swap_failed') || isExactChangeError(error, 'simulation_failed')) &&
    decodersOf(sources).some((decoder) => decoder.isPriceMoved(error.details.reason))
  );
}
