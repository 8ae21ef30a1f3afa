import { isExactChangeError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import { isRecord } from '../../internal/record.js';
import { sinceThen } from '../../internal/runtime.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { AutoPayRequest } from '../../transport.js';
import type { PaymentContext } from '../context.js';

/** A swap to request from a service, as quote and transaction in one call. */
export interface WantedSwap {
  readonly inputMint: Address;
  /** Base units of the offer's mint that the swap must bring. */
  readonly amount: bigint;
}

/** A service's answer, with quote and transaction not yet checked. */
export interface ServicePlan {
  readonly quote: Readonly<Record<string, unknown>>;
  readonly transaction: unknown;
}

// Milliseconds without plan requests after a failure, so that a service which cannot plan, or
// hangs, does not delay each payment. It may still give quotes.
const REST_MS = 60_000;

/**
 * Asks a distant service for the quote and the transaction of a swap in one call. Returns undefined
 * if the transport is not distant or gives no plan: both can be requested separately. Rejects with
 * the signal's reason.
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
 * Returns the request with the offer's parsed fields only. The service must not see the rest of the
 * 402, because the seller's text may repeat secrets of the requested URL.
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
