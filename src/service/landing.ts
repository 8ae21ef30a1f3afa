import { base64 } from '@scure/base';
import type { PaymentContext } from '../payments/context.js';
import { lookBackFor, RESEND_MS } from '../payments/execute/run-swap.js';
import { failureFee, swapAmountsOf, readLanded, rentIn, swapFailed } from '../payments/reconcile/swap-outcome.js';
import { TransactionError, type ExactChangeError } from '../errors.js';
import type { SignedSwap, SwapOutcome } from '../journal/types.js';
import { landTransaction } from '../solana/transactions/confirm.js';
import { mostFee, type SignedBytes } from './read-swap.js';
import type { SwapState } from './verdict.js';

/** What became of a swap, and the error that it failed with. */
export interface Landed {
  readonly outcome: SwapOutcome;
  readonly error?: ExactChangeError;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Sends a signed swap until the chain has decided. Undefined where the context closes before. Keeps no process alive by its timers. */
export async function landSwap(context: PaymentContext, swap: SignedSwap): Promise<Landed | undefined> {
  const { rpc, config, closing } = context;
  const { runtime } = config;
  const { signal } = closing;
  const { signature, lastValidBlockHeight } = swap;
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const landing = await landTransaction({
      rpc,
      runtime: { ...runtime, sleep: runtime.idle },
      bytes: base64.decode(swap.transaction),
      lastValidBlockHeight: BigInt(lastValidBlockHeight),
      resendMs: RESEND_MS,
      lookBack: lookBackFor(context, swap),
      signal,
    });
    if (landing.outcome === 'confirmed') return confirmed(context, swap);
    if (landing.outcome === 'failed') {
      const fee = await shownFee(context, signature);
      const outcome = { state: 'failed', code: 'swap_failed', ...(fee === undefined ? {} : { feeLamports: fee.toString() }) } as const;
      return { outcome, error: failedSwap(signature, landing.error, fee ?? swap.quoted.feeLamports) };
    }
    if (landing.outcome === 'expired') return { outcome: { state: 'failed', code: 'swap_expired' }, error: expiredSwap(signature) };
    await runtime.idle(wait, signal).catch(() => undefined);
  }
  return undefined;
}

/** Throws the error of a swap that came to nothing. */
export async function throwIfFailed(context: PaymentContext, { signature, decoded }: SignedBytes, verdict: SwapState): Promise<void> {
  if (verdict.state === 'failed') throw failedSwap(signature, verdict.reason, (await shownFee(context, signature)) ?? mostFee(decoded));
  if (verdict.state === 'expired') throw expiredSwap(signature);
}

/** What was put on record of a swap. */
export function landedBefore({ signature, quoted }: SignedSwap, outcome: SwapOutcome): Landed {
  if (outcome.state === 'confirmed') return { outcome };
  if (outcome.code === 'swap_expired') return { outcome, error: expiredSwap(signature) };
  return { outcome, error: failedSwap(signature, 'it is on record as failed', outcome.feeLamports ?? quoted.feeLamports) };
}

async function confirmed(
  context: PaymentContext,
  { signature, inputMint, outputMint, source, output, quoted }: SignedSwap,
): Promise<Landed> {
  const landed = await readLanded(context, signature);
  if (landed === undefined) return { outcome: { state: 'confirmed', ...quoted } };
  const wallet = context.config.signer.address;
  const about = { inputMint, outputMint, source, output };
  const { inAmount, outAmount, feeLamports } = swapAmountsOf(landed, wallet, about);
  const rent = rentIn(landed, wallet, about);
  return {
    outcome: {
      state: 'confirmed',
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      feeLamports: feeLamports.toString(),
      ...(rent === undefined ? {} : { rentLamports: rent.toString() }),
    },
  };
}

/** What a swap that landed and failed has cost, if a node shows it. */
async function shownFee(context: PaymentContext, signature: string): Promise<bigint | undefined> {
  return failureFee(await readLanded(context, signature), context.config.signer.address);
}

/** The error of a swap that landed and failed, with what that cost, or could cost at most. */
function failedSwap(signature: string, reason: string, fee: bigint | string): ExactChangeError<'swap_failed'> {
  return swapFailed({ signature, reason, feeLamports: fee.toString() });
}

/** The error of a swap that is proved never to land. */
function expiredSwap(signature: string): ExactChangeError {
  return new TransactionError('swap_expired', 'The swap did not land before its blockhash expired, and now never can. Try again.', {
    details: { signature },
  });
}
