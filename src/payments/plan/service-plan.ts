import { isExactChangeError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import { isRecord } from '../../internal/record.js';
import { sinceThen } from '../../internal/runtime.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { AutoPayRequest } from '../../transport.js';
import type { PaymentContext } from '../context.js';

/** A service's answer, with quote and transaction not yet checked. */
interface ServicePlan {
  readonly quote: Readonly<Record<string, unknown>>;
  readonly transaction: unknown;
}

// Milliseconds without plan requests after a failure, so that a service which cannot plan, or
// hangs, does not delay each payment. It may still give quotes.
const REST_MS = 60_000;

/** Whether the transport is a distant service, which may plan a swap in one call. */
export function mayPlan({ transport, config, memory }: PaymentContext): boolean {
  return (
    transport.distant === true && sinceThen(config.runtime, memory.servicePlanFailedAt) >= REST_MS
  );
}

/**
 * Asks a distant service for the quote and the transaction of a swap in one call. Returns undefined
 * if it gives no plan: both can be requested separately. Rejects with the signal's reason.
 *
 * @param amount - Base units of the offer's mint that the swap must bring.
 */
export async function askServicePlan(
  context: PaymentContext,
  offer: Offer,
  inputMint: Address,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<ServicePlan | undefined> {
  const { transport, config } = context;
  const request = autoPayRequest(context, offer, inputMint, amount);
  try {
    return planIn(await transport.autoPay(request, { signal }));
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
function autoPayRequest(
  { config }: PaymentContext,
  { network, amount, mint, payTo, feePayer, maxTimeoutSeconds }: Offer,
  inputMint: Address,
  swapAmount: bigint,
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
    swapFrom: [inputMint],
    swapAmount: swapAmount.toString(),
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
