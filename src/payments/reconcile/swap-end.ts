import { TransactionError, type ErrorDetails } from '../../errors.js';
import { base64 } from '../../internal/bytes.js';
import type { Runtime } from '../../internal/runtime.js';
import type { SignedSwap, SwapOutcome } from '../../journal/types.js';
import { WSOL_MINT } from '../../network.js';
import type { Receipt } from '../../receipt.js';
import type { LandedTransaction } from '../../solana/rpc/rpc.js';
import { landTransaction, type Landing } from '../../solana/transactions/confirm.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { Source } from './account-history.js';
import type { ClaimedId } from './claim.js';
import { earliestSlot, fateOf, readingOf, type Fate, type SentTransaction } from './fate.js';
import {
  failureFee,
  ownFee,
  readLanded,
  rentIn,
  swapAmountsOf,
  swapRecordOf,
} from './swap-outcome.js';

/** Milliseconds until a transaction that has not landed is sent again. */
export const RESEND_MS = 2_000;

export interface Swapped {
  readonly record: NonNullable<Receipt['swap']>;
  readonly feeLamports: bigint;
  /** Undefined if no node gives the transaction, or its numbers contradict each other. */
  readonly rentLamports: bigint | undefined;
}

export type SwapEnd =
  | {
      readonly swapped: Swapped;
      /** Undefined if no node gives the transaction: then `swapped` has the quoted amounts. */
      readonly landed: LandedTransaction | undefined;
      readonly slot: number;
      readonly outcome: SwapOutcome;
    }
  | {
      readonly error: TransactionError<'swap_failed' | 'swap_expired'>;
      readonly outcome: SwapOutcome;
    };

/** Sends a signed swap again and again until the chain has decided or the client closes. */
export function landSwap(
  { rpc, config, histories, closing }: PaymentContext,
  swap: SignedSwap,
  runtime: Runtime = config.runtime,
): Promise<Landing> {
  const sent = sentSwap(swap, config.signer.address);
  return landTransaction({
    rpc,
    runtime,
    bytes: base64.decode(swap.transaction),
    lastValidBlockHeight: BigInt(swap.lastValidBlockHeight),
    resendMs: RESEND_MS,
    lookBack: async (signal) => landingOf(await fateOf(histories, sent, signal)),
    signal: closing.signal,
  });
}

/** Asks the chain once about a signed swap, and sends nothing. */
export async function askSwap(
  { config, histories, closing }: PaymentContext,
  swap: SignedSwap,
  signal?: AbortSignal,
): Promise<Landing> {
  return landingOf(
    await fateOf(histories, sentSwap(swap, config.signer.address), signal ?? closing.signal),
  );
}

export async function endOfSwap(
  context: PaymentContext,
  swap: SignedSwap,
  landing: Landing,
): Promise<SwapEnd | undefined> {
  if (landing.outcome === 'unknown') return undefined;
  if (landing.outcome === 'expired')
    return {
      error: swapExpired(swap.signature),
      outcome: { state: 'failed', code: 'swap_expired' },
    };
  const { signature = swap.signature } = landing;
  const landed =
    (landing.outcome === 'confirmed' ? landing.landed : undefined) ??
    (await readLanded(context, signature));
  if (landing.outcome === 'failed') {
    const fee = failureFee(landed, context.config.signer.address, swap)?.toString();
    return {
      error: swapFailed({
        signature,
        reason: landing.error,
        feeLamports: fee ?? swap.quoted.feeLamports,
      }),
      outcome: {
        state: 'failed',
        code: 'swap_failed',
        ...(fee === undefined ? {} : { feeLamports: fee }),
      },
    };
  }
  const swapped = swappedBy(context, { ...swap, signature }, landed);
  return { swapped, landed, slot: landing.slot, outcome: confirmedOutcome(swapped) };
}

function swappedBy(
  context: PaymentContext,
  swap: SignedSwap,
  landed: LandedTransaction | undefined,
): Swapped {
  const { inputMint, outputMint, quoted } = swap;
  const wallet = context.config.signer.address;
  // Wrapped SOL stays on the wallet's own accounts, so the sum of their changes does not show it.
  const amounts =
    landed === undefined || inputMint === outputMint ? quoted : swapAmountsOf(landed, wallet, swap);
  return {
    record: swapRecordOf(swap, amounts),
    feeLamports: landed === undefined ? BigInt(quoted.feeLamports) : ownFee(landed, swap),
    rentLamports: landed === undefined ? undefined : rentIn(landed, wallet, swap),
  };
}

function confirmedOutcome({
  record: { inAmount, outAmount },
  feeLamports,
  rentLamports,
}: Swapped): SwapOutcome {
  const rent = rentLamports === undefined ? {} : { rentLamports: rentLamports.toString() };
  return { state: 'confirmed', inAmount, outAmount, feeLamports: feeLamports.toString(), ...rent };
}

/** @param cause - The error that ended the second try, if that try never landed. */
export function swapFailed(
  details: ErrorDetails['swap_failed'],
  cause?: unknown,
): TransactionError<'swap_failed'> {
  const again = cause === undefined ? '' : ', and a second try came to nothing: see cause';
  const message = `The swap landed and failed, so only ${details.feeLamports} lamports of network fee are gone${again}. Try again.`;
  return new TransactionError('swap_failed', message, {
    details,
    ...(cause === undefined ? {} : { cause }),
  });
}

export function swapExpired(signature: string): TransactionError<'swap_expired'> {
  return new TransactionError(
    'swap_expired',
    'The swap did not land before its blockhash expired, and now never can. Try again.',
    { details: { signature } },
  );
}

export function sentSwap(
  swap: Omit<SignedSwap, 'transaction' | 'quoted'>,
  wallet: Address,
): SentTransaction {
  const { signature, relay, inputMint, blockhash, blockhashSlot } = swap;
  return {
    // A relayer can sign the same message again with a different signature. Only the wallet's own
    // signature is sure to be in the landed transaction.
    ...(relay === undefined
      ? { signature, isId: true }
      : {
          signature: relay.payerSignature,
          isId: false,
          claim: proven(signature),
          mint: inputMint,
        }),
    ...{ blockhash, blockhashSlot, lastValidBlockHeight: BigInt(swap.lastValidBlockHeight) },
    source: swapSource(swap, wallet),
    before: readingOf(swap.before),
    slot: earliestSlot(blockhashSlot),
  };
}

/**
 * Returns the account that a swap takes from. A swap that sells SOL takes lamports from the wallet
 * itself.
 */
export function swapSource(
  { inputMint, source }: Pick<SignedSwap, 'inputMint' | 'source'>,
  wallet: Address,
): Source {
  return inputMint === WSOL_MINT
    ? { account: wallet, unit: 'lamports' }
    : { account: source, unit: 'tokens' };
}

/** Returns a proven claim, because the relayer's signature was verified before it was recorded. */
function proven(id: string): ClaimedId {
  return { id, isProven: () => Promise.resolve(true) };
}

export function landingOf(fate: Fate): Landing {
  if (fate.state === 'open') return { outcome: 'unknown' };
  if (fate.state === 'never') return { outcome: 'expired' };
  const { slot, error, signature } = fate;
  return error === null
    ? { outcome: 'confirmed', slot, signature }
    : { outcome: 'failed', error, slot, signature };
}
