import { askAbout } from '../plan/funding.js';
import { base64 } from '@scure/base';
import type { ResolvedRequest } from '../../config/swap-request.js';
import { throwIfAborted, untilAborted } from '../../internal/deadline.js';
import { isExactChangeError, TransactionError, type ExactChangeError } from '../../errors.js';
import type { Emit } from '../../events.js';
import type { SignedSwap as SwapRecord, SwapOutcome } from '../../journal/types.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import type { Receipt } from '../../receipt.js';
import { sinceThen, stopwatch } from '../../internal/runtime.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import { SIGNATURE_LAMPORTS } from '../../swaps/transaction/budget.js';
import { maxAccountsLadder } from '../../swaps/transaction/compose.js';
import { swapLimits } from '../../swaps/transaction/finish.js';
import { extractSwap } from '../../swaps/firewall/extract.js';
import { isJson } from '../../swaps/jupiter/answer.js';
import {
  boundsOf,
  signSwap,
  type SignedSwap,
  type SwapDeps,
  type SwapOutlook,
} from '../../swaps/transaction/prepare.js';
import { nothingReserved, type ReservedAmounts } from '../../swaps/transaction/plan.js';
import { copyBuild } from '../../swaps/transaction/read-build.js';
import { signWrap } from '../../swaps/transaction/sign-wrap.js';
import type { SwapBuild, SwapQuote } from '../../swaps/types.js';
import { quoteByName, quoteForPayment, checkAvailable, checkInput } from '../plan/swap-quote.js';
import type { PaymentContext } from '../context.js';
import { endOfSwap, landSwap, swapFailed, type Swapped } from '../reconcile/swap-end.js';
import { isOverCap, takingOf, type SwapTaking } from './swap-cost.js';
import { signerWithTimeout } from './signer-timeout.js';
import { rememberAfter } from '../reconcile/swap-outcome.js';

export interface SwapTask {
  readonly request: ResolvedRequest;
  /**
   * Asked for already, for a payment: used if it is young. Without, the caller asked for the swap
   * by name.
   */
  readonly quote?: SwapQuote | undefined;
  /** What was built for that quote, if it came along with it. */
  readonly built?: unknown;
  /** A person was shown the quote and approved it, however long that took. */
  readonly approved?: boolean | undefined;
  /** Base units of the input that the payment may take, however often it is quoted. */
  readonly available?: bigint | undefined;
  /** The output is wrapped SOL, and wanted as such. */
  readonly keepWrapped?: boolean | undefined;
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /**
   * Called with what a swap takes at most, by its quote and then by its guard, before it is signed;
   * a rejection keeps it from being signed.
   */
  readonly onPlanned?: ((taking: SwapTaking) => Promise<void>) | undefined;
  /** Writes the signed swap down before it leaves. */
  readonly onSigned?: ((signed: SwapRecord) => Promise<void>) | undefined;
  /**
   * Called with what became of each swap that was signed, once the chain has decided. Says what it
   * cost.
   */
  readonly onDecided?: ((outcome: SwapOutcome) => Receipt['cost']) | undefined;
  /** Called when the proceeds are there, before any other payment or swap may touch them. */
  readonly onConfirmed?: (() => Promise<void>) | undefined;
}

type Watched = Pick<
  SwapTask,
  'emit' | 'signal' | 'onPlanned' | 'onSigned' | 'onDecided' | 'onConfirmed'
>;

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
      const maxAccounts = isExactChangeError(error, 'transaction_too_large')
        ? ladder.shift()
        : undefined;
      if (maxAccounts !== undefined) request = { ...request, maxAccounts };
      else if (landings >= MAX_LANDINGS || !worthAnother(error, guard))
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
  if (task.quote === undefined) return quoteByName(context, request, task.signal);
  const quote = await askAbout(context, request.outputMint, task.signal, (signal) =>
    quoteForPayment(context, request, signal),
  );
  if (task.available !== undefined) checkAvailable(quote, task.available);
  return quote;
}

/** Turns SOL into wrapped SOL, for a payment that is made in it. */
export async function runWrap(
  context: PaymentContext,
  amount: bigint,
  task: Watched,
): Promise<Swapped> {
  const record = {
    inputMint: WSOL_MINT,
    outputMint: WSOL_MINT,
    inAmount: amount,
    outAmount: amount,
    provider: 'wrap',
  };
  return exclusively(
    context,
    [WSOL_MINT],
    task,
    () =>
      signWrap(depsOf(context, task.signal), {
        ...{ amount, reserved: () => reservedFor(context, WSOL_MINT, WSOL_MINT) },
        ...{
          onPlanned: async (expected: SwapOutlook) => task.onPlanned?.(takingOf(expected)),
          signal: task.signal,
        },
      }),
    record,
  );
}

/** @param guard - Told whether the guard of what is signed lets nothing be missing. */
async function swapOnce(
  context: PaymentContext,
  task: SwapTask,
  quote: SwapQuote,
  built: unknown,
  guard: { isStrict: boolean },
): Promise<Swapped> {
  const bounds = boundsOf(quote);
  // What a cap refuses by its quote is not built, and keeps no payment waiting.
  await task.onPlanned?.({ ...bounds, lamports: SIGNATURE_LAMPORTS });
  const { approved = false, available } = task;
  // What was approved is within the policy.
  const mostIn =
    approved && available !== undefined
      ? new Map([[quote.inputMint, available]])
      : context.config.policy.maxInAmount;
  let planned: SwapOutlook | undefined;
  let building: Promise<SwapBuild> | undefined;
  const order = {
    bounds,
    build: (signal?: AbortSignal) => (building ??= buildOf(context, quote, built, signal)),
    keepWrapped: task.keepWrapped,
    onPlanned: async (expected: SwapOutlook) => {
      planned = expected;
      const taking = takingOf(expected);
      // A venue may take what payments in flight leave to be missing of the input, too.
      checkInput({ inputMint: taking.inputMint, maxInAmount: taking.maxIn.toString() }, mostIn);
      await task.onPlanned?.(taking);
    },
    reserved: () => reservedFor(context, quote.inputMint, quote.outputMint),
    signal: task.signal,
  };
  const record = {
    inputMint: quote.inputMint,
    outputMint: quote.outputMint,
    inAmount: BigInt(quote.inAmount),
    outAmount: BigInt(quote.outAmount),
    provider: quote.provider,
  };
  const deps = depsOf(context, task.signal);
  const sign = () =>
    signSwap(deps, order).catch(async (error: unknown) => {
      if (planned === undefined || sumOf(planned.leeway) === 0n || !isOverCap(error)) throw error;
      // Refused without its leeway too, it ends here.
      await task.onPlanned?.(takingOf({ ...planned, leeway: nothingReserved }));
      await noneInFlight(context, order.reserved, task.signal);
      guard.isStrict = true;
      return signSwap(deps, { ...order, isStrict: true });
    });
  return exclusively(context, [quote.inputMint, quote.outputMint], task, sign, record);
}

const LOOK_MS = 100;
/** A payment in flight mostly lands within so long. */
const IN_FLIGHT_MS = 2_000;
/** If none of them lands for so long, those that are left may take minutes. */
const STANDSTILL_MS = 500;

/**
 * Waits for a while, as long as payments in flight leave the accounts of a swap: a strict guard
 * fails if one leaves meanwhile.
 */
async function noneInFlight(
  { config }: PaymentContext,
  reserved: () => Promise<ReservedAmounts>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { runtime } = config;
  const elapsed = stopwatch(runtime);
  let last = { left: sumOf(await reserved()), at: 0 };
  while (last.left > 0n && elapsed() < IN_FLIGHT_MS && elapsed() - last.at < STANDSTILL_MS) {
    await runtime.sleep(LOOK_MS, signal);
    const left = sumOf(await reserved());
    if (left < last.left) last = { left, at: elapsed() };
  }
}

function sumOf({ input, output, lamports }: ReservedAmounts): bigint {
  return input + output + lamports;
}

/**
 * Signs and lands while no payment leaves from the accounts that it touches and no other swap of
 * the wallet runs: the guard at its end holds them to the balances that were read before. The
 * caller may stop waiting; the swap goes on to its end.
 */
function exclusively(
  context: PaymentContext,
  mints: readonly Address[],
  { emit, signal, onSigned, onDecided, onConfirmed }: Omit<Watched, 'onPlanned'>,
  sign: () => Promise<SignedSwap>,
  quoted: QuotedAmounts,
): Promise<Swapped> {
  const locks = [...mints.map(mintLock), LAMPORTS_LOCK];
  const swap = async () => {
    throwIfAborted(signal);
    const signed = await sign();
    // Before it is written: a call that gave up has undone already what there was.
    throwIfAborted(signal);
    const record = recordOf(signed, quoted);
    const { signature, lastValidBlockHeight } = record;
    await onSigned?.(record);
    emit('swap.signed', { signature, lastValidBlockHeight });
    const end = await endOfSwap(context, record, await landSwap(context, record));
    if (end === undefined || 'error' in end) {
      const cost = end === undefined ? undefined : onDecided?.(end.outcome);
      await forgetBoth(context, signed);
      const error = end?.error ?? uncertain(record);
      emit('swap.failed', { signature, code: error.code, ...(cost === undefined ? {} : { cost }) });
      throw error;
    }
    const { swapped, landed, outcome } = end;
    if (landed === undefined) {
      emit('warning', {
        message: `No node gives the confirmed swap ${signature}, so its amounts are reported as quoted.`,
      });
      await forgetBoth(context, signed);
      if (onConfirmed !== undefined)
        await rememberLeast(context, signed.expected).catch(() => undefined);
    } else await rememberAfter(context, landed, signed.expected).catch(() => undefined);
    const cost = onDecided?.(outcome);
    emit('swap.confirmed', {
      ...swapped.record,
      feeLamports: swapped.feeLamports.toString(),
      ...(cost === undefined ? {} : { cost }),
    });
    await onConfirmed?.();
    return swapped;
  };
  return untilAborted(context.locks.hold(locks, swap, [signal, context.closing.signal]), signal);
}

/** What a swap was quoted to take and to bring, in base units. */
interface QuotedAmounts {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly provider: string;
}

/** The lock of what moves a mint's tokens out of or into the wallet. */
export function mintLock(mint: Address): string {
  return `mint ${mint}`;
}

/** The lock of what counts on the wallet's lamports. */
export const LAMPORTS_LOCK = 'lamports';

/** What is put on record of a swap before it leaves. */
function recordOf(
  { signature, bytes, lifetime: { blockhash, slot, lastValidBlockHeight }, expected }: SignedSwap,
  { inputMint, outputMint, inAmount, outAmount, provider }: QuotedAmounts,
): SwapRecord {
  const { source, output, before } = expected;
  return {
    ...{
      signature,
      inputMint,
      outputMint,
      provider,
      source,
      output,
      blockhash,
      blockhashSlot: slot,
    },
    before: { amount: before.amount.toString(), slot: before.slot },
    lastValidBlockHeight: lastValidBlockHeight.toString(),
    transaction: base64.encode(bytes),
    quoted: {
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      feeLamports: (expected.networkFeeLamports + expected.priorityFeeLamports).toString(),
    },
  };
}

function uncertain({
  signature,
  lastValidBlockHeight,
}: SwapRecord): TransactionError<'swap_uncertain'> {
  return new TransactionError(
    'swap_uncertain',
    `The swap was sent, and no node says what became of it. Look up its signature, or wait until block height ${lastValidBlockHeight} is final, before trying again.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}

/**
 * The one swap instruction: out of a transaction that is built already, from the transport as it
 * is, or out of the transaction that it builds.
 */
async function buildOf(
  context: PaymentContext,
  quote: SwapQuote,
  built: unknown,
  signal: AbortSignal | undefined,
): Promise<SwapBuild> {
  const wallet = context.config.signer.address;
  const { transport } = context;
  if (built !== undefined) return extractSwap(context.rpc, built, wallet, { signal });
  if (transport.swapInstruction !== undefined)
    return copyBuild(await transport.swapInstruction({ wallet, quote }, { signal }));
  const answer: unknown = await transport.buildSwap({ wallet, quote }, { signal });
  return extractSwap(context.rpc, isJson(answer) ? answer['transaction'] : undefined, wallet, {
    signal,
  });
}

function depsOf(context: PaymentContext, signal: AbortSignal | undefined): SwapDeps {
  const { runtime, network, policy } = context.config;
  const signer = signerWithTimeout(context, signal);
  const limits = swapLimits(policy);
  return { rpc: context.rpc, signer, runtime, blockhashes: context.blockhashes, network, limits };
}

/** What payments in flight may still take from the accounts that the swap's guard looks at. */
async function reservedFor(
  { ledger, config }: PaymentContext,
  inputMint: Address,
  outputMint: Address,
): Promise<ReservedAmounts> {
  const wallet = config.signer.address;
  const held = async (mint: Address) => {
    const accounts = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].map((program) =>
      ledger.held(associatedTokenAddress(wallet, mint, program)),
    );
    return (await Promise.all(accounts)).reduce((sum, amount) => sum + amount);
  };
  return {
    input: await held(inputMint),
    output: await held(outputMint),
    lamports: await ledger.held(wallet),
  };
}

/**
 * What the swap's guard has proved that there is: a node that is behind would show less, and a
 * second swap be made for it.
 */
function rememberLeast(
  { ledger, config }: PaymentContext,
  { output, outputBefore, minOut }: SignedSwap['expected'],
): Promise<void> {
  return ledger.see(output, { amount: outputBefore + minOut, at: config.runtime.now() });
}

/**
 * What they hold now is not known any more; if that cannot be noted, it is read anew when it is
 * old.
 */
async function forgetBoth(
  { ledger }: PaymentContext,
  { expected }: Pick<SignedSwap, 'expected'>,
): Promise<void> {
  await Promise.all([ledger.forget(expected.source), ledger.forget(expected.output)]).catch(
    () => undefined,
  );
}

// What Jupiter's program fails with when the price moved: a new quote may well do.
const PRICE_MOVED = /SlippageToleranceExceeded|ExactOutAmountNotMatched|"Custom":(?:6001|6017)\b/;

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

function worthAnother(error: unknown, { isStrict }: { readonly isStrict: boolean }): boolean {
  if (isExactChangeError(error, 'swap_expired')) return true;
  // A payment that left meanwhile is in what is read for the next.
  if (
    isStrict &&
    (isExactChangeError(error, 'swap_failed') || isExactChangeError(error, 'unsafe_swap'))
  )
    return true;
  return (
    (isExactChangeError(error, 'swap_failed') || isExactChangeError(error, 'simulation_failed')) &&
    PRICE_MOVED.test(error.details.reason)
  );
}
