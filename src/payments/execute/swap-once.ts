import { minAmount } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import { stopwatch } from '../../internal/stopwatch.js';
import { TOKEN_PROGRAMS, WSOL_MINT } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import type { Address } from '../../solana/types.js';
import type { SwapBuild } from '../../swaps/provider.js';
import { signRelayed } from '../../swaps/relayer/sign-relayed.js';
import { decodersOf } from '../../swaps/sources.js';
import { swapLimits } from '../../swaps/transaction/finish.js';
import { nothingReserved, type ReservedAmounts } from '../../swaps/transaction/plan.js';
import {
  boundsOf,
  signSwap,
  type SignedSwap,
  type SwapDeps,
  type SwapOrder,
  type SwapOutlook,
} from '../../swaps/transaction/prepare.js';
import { signWrap } from '../../swaps/transaction/sign-wrap.js';
import type { SwapQuote } from '../../swaps/types.js';
import { signerWithTimeout, type PaymentContext } from '../context.js';
import { pastApproval } from '../plan/quote-within.js';
import { notRelayed, relayOffer } from '../plan/relay.js';
import { buildFor } from '../plan/swap-build.js';
import { checkInput } from '../plan/swap-quote.js';
import type { Swapped } from '../reconcile/swap-end.js';
import { isOverCap, takingOf } from '../plan/swap-cost-bound.js';
import { landExclusively } from './land-exclusively.js';
import type { SwapTask, SwapHooks } from './swap-task.js';

export async function runWrap(
  context: PaymentContext,
  amount: bigint,
  task: SwapHooks,
): Promise<Swapped> {
  const quoted = {
    inputMint: WSOL_MINT,
    outputMint: WSOL_MINT,
    inAmount: amount.toString(),
    outAmount: amount.toString(),
    provider: 'wrap',
  };
  return landExclusively(
    context,
    [WSOL_MINT],
    task,
    () =>
      signWrap(depsOf(context, task.signal), {
        ...{ amount, next: context.next },
        onPlanned: async (expected: SwapOutlook) => task.onPlanned?.(takingOf(expected)),
        signal: task.signal,
      }),
    quoted,
  );
}

/**
 * Builds, signs and lands a swap, once.
 *
 * @param guard - Gets `isStrict` if a payment in flight may make the strict guard of the swap fail.
 */
export async function swapOnce(
  context: PaymentContext,
  task: SwapTask,
  quote: SwapQuote,
  built: unknown,
  guard: { isStrict: boolean },
): Promise<Swapped> {
  const bounds = boundsOf(quote);
  // Ask the caps first: a swap that they refuse by its quote keeps no payment waiting.
  // A relayer may pay the lamports.
  const lamports = context.config.relayer === undefined ? SIGNATURE_LAMPORTS : 0n;
  await task.onPlanned?.({ ...bounds, lamports });
  const { approved = false, available, worst } = task;
  const most = approved ? available : worst && BigInt(worst.maxInAmount);
  const maxInputs = withApproved(context.config.policy.maxInAmount, quote.inputMint, most);
  let planned: SwapOutlook | undefined;
  let building: Promise<SwapBuild> | undefined;
  const order = {
    bounds,
    build: (signal?: AbortSignal) => (building ??= buildFor(context, quote, built, signal)),
    keepWrapped: task.keepWrapped,
    onPlanned: async (expected: SwapOutlook) => {
      planned = expected;
      const taking = takingOf(expected);
      // The amount includes the leeway, because a venue may take that too.
      checkInput(
        context.config.network,
        { inputMint: taking.inputMint, maxInAmount: taking.maxIn.toString() },
        maxInputs,
      );
      await task.onPlanned?.(taking);
    },
    signal: task.signal,
  };
  const deps = depsOf(context, task.signal);
  const { inputMint, outputMint } = quote;
  const reserved = () => reservedFor(context, inputMint, outputMint);
  const signStrict = async () => {
    await waitForPayments(context, reserved, task.signal);
    guard.isStrict = true;
    return signSwapPaid(context, deps, { ...order, reserved, isStrict: true }, task);
  };
  // Amounts may be missing only if caps count them, and if neither the caller nor an approval has
  // bounded the swap.
  const isBounded = task.onPlanned === undefined || task.worst !== undefined || approved;
  const signFirst = async () =>
    isBounded && sumOf(await reserved()) > 0n
      ? signStrict()
      : signSwapPaid(context, deps, { ...order, reserved, isStrict: isBounded }, task);
  const sign = () =>
    signFirst()
      .catch(async (error: unknown) => {
        if (planned === undefined || sumOf(planned.leeway) === 0n || !isOverCap(error)) throw error;
        // This throws if the caps refuse the swap without its leeway too.
        await task.onPlanned?.(takingOf({ ...planned, leeway: nothingReserved }));
        return signStrict();
      })
      .catch((error: unknown) => {
        throw worst && isPastApproval(error, worst.maxInAmount) ? pastApproval() : error;
      });
  const landAlone = () => landExclusively(context, [inputMint, outputMint], task, sign, quote);
  // Beside payments, the whole balance may be missing, and no approver has seen that.
  if (task.beside !== true || approved) return landAlone();
  const signBeside = () => {
    // The rehearsal has a strict guard: a payment that leaves meanwhile fails it.
    guard.isStrict = true;
    return signSwapPaid(context, deps, { ...order, reserved, beside: true }, task);
  };
  return landExclusively(context, [inputMint], task, signBeside, quote).catch((error: unknown) => {
    if (!isOverCap(error)) throw error;
    guard.isStrict = false;
    return landAlone();
  });
}

/** Returns the caller's bounds, tightened by the approved input. It includes a relayer's fee. */
function withApproved(
  bounds: ReadonlyMap<string, bigint>,
  mint: Address,
  approved: bigint | undefined,
): ReadonlyMap<string, bigint> {
  if (approved === undefined) return bounds;
  return new Map([...bounds, [mint, minAmount(approved, bounds.get(mint) ?? approved)]]);
}

/** Whether a swap was refused because of the approved input, not because of the caller's bound. */
export function isPastApproval(error: unknown, approved: string): boolean {
  return (
    isExactChangeError(error, 'amount_over_limit') &&
    error.details.cap === 'maxInAmount' &&
    error.details.limit === approved
  );
}

const LOOK_MS = 100;

/** Milliseconds within which a payment in flight mostly lands. */
const IN_FLIGHT_MS = 2_000;

/**
 * If no payment is seen to land for so many milliseconds, the payments in flight may take minutes.
 * A landing is seen within a second (`batchStatuses`).
 */
const STANDSTILL_MS = 1_500;

/**
 * Waits a while for payments in flight from the accounts of a swap. A strict guard fails if a
 * payment leaves meanwhile.
 */
async function waitForPayments(
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

function sumOf({ input, output }: ReservedAmounts): bigint {
  return input + output;
}

function depsOf(context: PaymentContext, signal: AbortSignal | undefined): SwapDeps {
  const { rpc, blockhashes } = context;
  const decoders = decodersOf(context.sources);
  const { network, policy } = context.config;
  const signer = signerWithTimeout(context, signal);
  const limits = swapLimits(policy);
  return { decoders, rpc, signer, blockhashes, network, limits };
}

/** Returns the amounts that payments in flight may take from the accounts of the swap's guard. */
async function reservedFor(
  { ledger, config }: PaymentContext,
  inputMint: Address,
  outputMint: Address,
): Promise<ReservedAmounts> {
  const wallet = config.signer.address;
  const held = async (mint: Address) => {
    const accounts = TOKEN_PROGRAMS.map((program) =>
      ledger.held(associatedTokenAddress(wallet, mint, program)),
    );
    return (await Promise.all(accounts)).reduce((sum, amount) => sum + amount);
  };
  return { input: await held(inputMint), output: await held(outputMint) };
}

/**
 * Signs a swap. The wallet pays fees and rents; if it has too little SOL, the relayer of the
 * caller's options pays. Throws the errors of `signSwap` and `signRelayed`. An `insufficient_sol`
 * has the relayer's reason as its cause.
 */
function signSwapPaid(
  context: PaymentContext,
  deps: SwapDeps,
  order: SwapOrder,
  { relay, approved = false }: Pick<SwapTask, 'relay' | 'approved'>,
): Promise<SignedSwap> {
  return signSwap(deps, order).catch(async (short: unknown) => {
    if (!isExactChangeError(short, 'insufficient_sol')) throw short;
    const because = (cause: unknown) =>
      isExactChangeError(cause) && order.signal?.aborted !== true
        ? notRelayed(short, cause)
        : cause;
    // Do not ask a relayer after an approval: the approved plan shows no fee of a relayer.
    const offer =
      relay ??
      (approved
        ? undefined
        : await relayOffer(context, [order.bounds.inputMint], order.signal).catch(
            (cause: unknown) => {
              throw because(cause);
            },
          ));
    if (offer === undefined) throw short;
    return signRelayed(deps, order, offer, because);
  });
}
