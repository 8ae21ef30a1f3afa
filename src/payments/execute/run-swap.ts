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

// Prices move, so a swap from an older quote would mostly fail.
const QUOTE_MAX_AGE_MS = 5_000;

// Try once more if the first swap provably did nothing.
const MAX_LANDINGS = 2;

/**
 * Makes a swap and waits for its confirmation. Tries once more with a new quote if the price moved,
 * a payment left beside the swap, or the swap provably never landed. A swap that does not fit into
 * a transaction is quoted again with fewer accounts.
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
      else if (landings >= MAX_LANDINGS || !isWorthRetry(context, error, guard))
        throw withFees(error, failed);
      else landings += 1;
      if (isExactChangeError(error, 'swap_failed')) failed = error;
      quote = undefined;
      maxAgeMs = QUOTE_MAX_AGE_MS;
    }
  }
}

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

/** Notes a failed input that is not pinned: for a while its price is compared with no other. */
function noteFailure({ config, memory }: PaymentContext, { inputMint }: SwapQuote): void {
  if (pinnedMint(config.network, inputMint) !== undefined) return;
  makeRoom(memory.failedInputs);
  memory.failedInputs.set(inputMint, config.runtime.now());
}

function feesOf(failed: ExactChangeError<'swap_failed'> | undefined): bigint {
  return BigInt(failed?.details.feeLamports ?? 0);
}

/**
 * Returns the error of the last try, with the network fee of an earlier try that landed and failed.
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

function isWorthRetry(
  { sources }: PaymentContext,
  error: unknown,
  { isStrict }: { readonly isStrict: boolean },
): boolean {
  if (isExactChangeError(error, 'swap_expired')) return true;
  // The next try reads balances that include the payment that left meanwhile.
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
