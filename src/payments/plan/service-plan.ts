import { isExactChangeError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import { isRecord } from '../../internal/record.js';
import { sinceThen } from '../../internal/runtime.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { AutoPayRequest } from '../../transport.js';
import type { PaymentContext } from '../context.js';

/** A swap for a payment that is asked for as one. */
export interface WantedSwap {
  readonly inputMint: Address;
  /** Base units of the offer's token that it has to bring. */
  readonly amount: bigint;
}

/** What a service says to a plan, neither part of it judged. */
export interface ServicePlan {
  readonly quote: Readonly<Record<string, unknown>>;
  readonly transaction: unknown;
}

// A service that cannot plan, or hangs, costs a payment no time again so soon: its quotes may be
// all that it has.
const REST_MS = 60_000;

/**
 * Asks a distant service for the quote and the transaction of a swap in one call. Undefined if
 * the transport is not distant, and if no such plan comes of it, for whatever reason: both can
 * be asked for by themselves. Rejects with the signal's reason.
 */
export async function askServicePlan(
  context: PaymentContext,
  offer: Offer,
  wanted: WantedSwap,
  signal: AbortSignal | undefined,
): Promise<ServicePlan | undefined> {
  const { transport, config } = context;
  if (
    transport.distant !== true ||
    sinceThen(config.runtime, context.memory.servicePlanFailedAt) < REST_MS
  )
    return undefined;
  try {
    return planIn(await transport.autoPay(requestFor(context, offer, wanted), { signal }));
  } catch (error) {
    throwIfAborted(signal);
    if (!isExactChangeError(error)) throw error;
    if (error.name === 'TransportError') context.memory.servicePlanFailedAt = config.runtime.now();
    return undefined;
  }
}

/**
 * The offer in our own words, and no more of the 402: what its seller wrote beside it may repeat
 * the address that was asked, and what is secret in that.
 */
function requestFor(
  { config }: PaymentContext,
  { network, amount, mint, payTo, feePayer, maxTimeoutSeconds }: Offer,
  wanted: WantedSwap,
): AutoPayRequest {
  const entry = {
    scheme: 'exact',
    network,
    amount: amount.toString(),
    asset: mint,
    payTo,
    maxTimeoutSeconds,
    extra: { feePayer },
  };
  return {
    paymentRequired: { body: { x402Version: 2, accepts: [entry] } },
    wallet: config.signer.address,
    autoSwap: true,
    limits: { [mint]: amount.toString() },
    swapFrom: [wanted.inputMint],
    swapAmount: wanted.amount.toString(),
    slippageBps: config.policy.maxSlippageBps,
  };
}

function planIn(answer: unknown): ServicePlan | undefined {
  const swap = isRecord(answer) && answer['state'] === 'swap_required' ? answer['swap'] : undefined;
  const quote = isRecord(swap) ? swap['quote'] : undefined;
  return isRecord(swap) && isRecord(quote)
    ? { quote, transaction: swap['transaction'] }
    : undefined;
}
