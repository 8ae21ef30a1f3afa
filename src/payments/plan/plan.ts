import { formatUsd } from '../../amount.js';
import { untilAborted } from '../../internal/abort.js';
import type { Call } from '../../internal/request.js';
import { capUse, partsOf, type CapUse } from '../../policy/cap-use.js';
import { capsFor, takenOf, type Cap, type Spend } from '../../policy/caps.js';
import { capsSeen } from '../../policy/cap-use.js';
import type { Plan } from '../../policy/plan.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { Receipt } from '../../receipt.js';
import { newAccountRent } from '../../swaps/transaction/read-facts.js';
import type { SwapQuote } from '../../swaps/types.js';
import { shownAmount } from '../../network.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { costFor } from '../execute/attempt-receipt.js';
import { swapBound } from '../execute/swap-bound.js';
import { choose, spendOf, type Choice } from './choose.js';
import { broughtBy, type Funding } from './funding.js';

/** What a plan says of the call that it is for. */
export type PlanPlace = Pick<Plan, 'url' | 'method' | 'status'>;

/** Chooses and quotes, and leaves everything as it was. Throws what the real call would throw. */
export async function makePlan(
  context: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired | undefined,
): Promise<Plan> {
  const place = {
    url: unpaid.url === '' ? call.url : unpaid.url,
    method: call.method,
    status: unpaid.status,
  };
  if (terms === undefined)
    return {
      ...place,
      refused: [],
      maxFeeLamports: '0',
      caps: await usesOf(context, capsSeen(context.config.policy, [])),
    };
  await untilAborted(context.ready(), call.signal);
  const choice = await choose(context, terms, {
    host: new URL(place.url).host,
    signal: call.signal,
    quote: true,
  });
  return planOf(context, place, choice, choice.funding, call.signal);
}

/**
 * What paying by a choice signs: the payment, and the swap that funds it.
 *
 * @param reserved - The caps count the payment already; the plan shows them as they stand before
 *   it.
 */
export async function planOf(
  context: PaymentContext,
  place: PlanPlace,
  choice: Choice,
  funding: Funding | undefined,
  signal: AbortSignal | undefined,
  reserved = false,
): Promise<Plan> {
  const spend = spendOf(choice, new URL(place.url).host);
  const { offer, facts, microUsd, refused } = choice;
  return {
    ...(await planOfSwap(context, place, spend, funding, signal, reserved)),
    payment: {
      x402Version: offer.x402Version,
      network: offer.network,
      mint: offer.mint,
      amount: offer.amount.toString(),
      decimals: facts.decimals,
      ...shownAmount(offer.network, offer.mint, offer.amount, facts.decimals),
      payTo: offer.payTo,
      feePayer: offer.feePayer,
      ...(microUsd === undefined ? {} : { usd: formatUsd(microUsd) }),
      available: facts.available.toString(),
    },
    refused,
  };
}

/** What a spend signs besides its payment, if it has one: the swap that funds it. */
export async function planOfSwap(
  context: PaymentContext,
  place: PlanPlace,
  spend: Spend,
  funding: Funding | undefined,
  signal: AbortSignal | undefined,
  reserved: boolean,
): Promise<Plan> {
  const { policy } = context.config;
  return {
    ...place,
    ...(funding === undefined
      ? {}
      : 'quote' in funding
        ? { swap: withoutRaw(funding.quote), ...relayIn(funding) }
        : { wrap: funding.wrap.toString() }),
    cost:
      funding === undefined ? costFor(spend, 0n) : await mostFor(context, spend, funding, signal),
    refused: [],
    maxFeeLamports: (funding === undefined ? 0n : policy.maxFeeLamports).toString(),
    caps: await usesOf(context, capsFor(policy, spend), reserved ? spend : undefined),
  };
}

/** What a payment and the swap before it take at most. */
async function mostFor(
  context: PaymentContext,
  spend: Spend,
  funding: Funding,
  signal: AbortSignal | undefined,
): Promise<Receipt['cost']> {
  const { signer, policy } = context.config;
  const { inputMint, maxInAmount: maxIn, relay } = funding;
  const rent = await newAccountRent(context.rpc, signer.address, spend.mint, { signal });
  const taking = {
    inputMint,
    outputMint: spend.mint,
    maxIn,
    minOut: broughtBy(funding) - (relay?.mint === spend.mint ? relay.maxFee : 0n),
    lamports: policy.maxFeeLamports + rent,
  };
  return costFor(
    { ...spend, swapping: await swapBound(context, taking, spend, signal) },
    policy.maxFeeLamports,
  );
}

/** How much of each cap is used now, a spend left out that is among it. */
export async function usesOf(
  context: PaymentContext,
  caps: readonly Cap[],
  except?: Spend,
): Promise<CapUse[]> {
  const rows = caps.map((cap) => ({ cap, parts: partsOf(cap) }));
  const asked = rows.flatMap(({ cap, parts }) => [cap, ...parts]);
  const used = await context.journal.used(ownerOf(context), asked, context.config.runtime.now());
  const spent = new Map(asked.map((cap, index) => [cap, used[index] ?? 0n]));
  const usedOf = (cap: Cap): bigint => {
    const rest = (spent.get(cap) ?? 0n) - (except === undefined ? 0n : takenOf(cap, except));
    return rest > 0n ? rest : 0n;
  };
  return rows.map(({ cap, parts }) => capUse(cap, usedOf(cap), parts.map(usedOf)));
}

function relayIn({ relay }: Pick<Funding, 'relay'>): Pick<Plan, 'relayer'> {
  if (relay === undefined) return {};
  const { feePayer, payTo, mint, maxFee } = relay;
  return { relayer: { feePayer, payTo, mint, maxAmount: maxFee.toString() } };
}

function withoutRaw({ raw: _raw, ...quote }: SwapQuote): Omit<SwapQuote, 'raw'> {
  return quote;
}
