import { formatUsd } from '../../amount.js';
import { untilAborted } from '../../internal/abort.js';
import type { Call } from '../../internal/request.js';
import { capsForSpends, capUse, partsOf, type CapUse } from '../../policy/cap-use.js';
import { capsFor, takenOf, type Cap, type Spend } from '../../policy/caps.js';
import type { Plan } from '../../policy/plan.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { Receipt } from '../../receipt.js';
import { newAccountRent } from '../../swaps/accounts/read-wallet.js';
import { cleanQuote } from '../../swaps/quote/check-quote.js';
import type { SwapQuote } from '../../swaps/types.js';
import { shownAmount } from '../../network.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { costFor } from '../attempt-receipt.js';
import { workOnceToppedUp } from '../once-topped-up.js';
import { swapBound } from './swap-cost-bound.js';
import { checkCaps } from './check-caps.js';
import { checkRequest } from './check-request.js';
import { choose, spendOf, type Choice } from './choose.js';
import { broughtBy, type Funding } from './funding.js';

export type PlanPlace = Pick<Plan, 'url' | 'method' | 'status'>;

/**
 * Chooses an offer and quotes its swap, without any change. Throws like the real call would, except
 * for what shows only once its swap is built (see `checkCaps`), and for an equal call that was paid
 * and not answered.
 */
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
      caps: await untilAborted(
        usesOf(context, capsForSpends(context.config.policy, [])),
        call.signal,
      ),
    };
  await checkRequest(context.config.policy, call, unpaid, place.url);
  await context.ready(call.signal);
  const { host } = new URL(place.url);
  const { signal } = call;
  const choosing = async () => {
    const choice = await choose(context, terms, { host, signal, quote: true });
    await checkCaps(context, spendOf(choice, host), choice.funding, signal);
    return choice;
  };
  const plan = async () => {
    // Choose again after a top-up, because it may have brought the tokens of a planned swap.
    const choice = await workOnceToppedUp(context, choosing, signal);
    return planOf(context, place, choice, choice.funding, signal);
  };
  return untilAborted(plan(), signal);
}

/**
 * Returns the plan of a choice: the payment to sign, and the swap that funds it.
 *
 * @param reserved - Whether the caps already count the payment; the plan then shows the caps
 *   without it.
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

/** Returns the plan of a spend without its payment: the funding swap, the cost and the caps. */
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
        ? { swap: shownQuote(funding.quote), ...relayIn(funding) }
        : { wrap: funding.wrap.toString() }),
    cost:
      funding === undefined ? costFor(spend, 0n) : await mostFor(context, spend, funding, signal),
    refused: [],
    maxFeeLamports: (funding === undefined ? 0n : policy.maxFeeLamports).toString(),
    caps: await usesOf(context, capsFor(policy, spend), reserved ? spend : undefined),
  };
}

async function mostFor(
  context: PaymentContext,
  spend: Spend,
  funding: Funding,
  signal: AbortSignal | undefined,
): Promise<Receipt['cost']> {
  const { signer, policy } = context.config;
  const { inputMint, maxInAmount: maxIn } = funding;
  const rent = await newAccountRent(context.rpc, signer.address, spend.mint, { signal });
  const taking = {
    inputMint,
    outputMint: spend.mint,
    maxIn,
    minOut: broughtBy(funding),
    lamports: policy.maxFeeLamports + rent,
  };
  return costFor(
    { ...spend, swapping: await swapBound(context, taking, spend, signal) },
    policy.maxFeeLamports,
  );
}

/** Returns how much of each cap is used now. Leaves out `except`, a spend that the caps count. */
export async function usesOf(
  context: PaymentContext,
  caps: readonly Cap[],
  except?: Spend,
): Promise<CapUse[]> {
  const rows = caps.map((cap) => ({ cap, parts: partsOf(cap) }));
  const allCaps = rows.flatMap(({ cap, parts }) => [cap, ...parts]);
  const used = await context.journal.used(ownerOf(context), allCaps, context.config.runtime.now());
  const usedByCap = new Map(allCaps.map((cap, index) => [cap, used[index] ?? 0n]));
  const usedOf = (cap: Cap): bigint => {
    const amount = (usedByCap.get(cap) ?? 0n) - (except === undefined ? 0n : takenOf(cap, except));
    return amount > 0n ? amount : 0n;
  };
  return rows.map(({ cap, parts }) => capUse(cap, usedOf(cap), parts.map(usedOf)));
}

function relayIn({ relay }: Pick<Funding, 'relay'>): Pick<Plan, 'relayer'> {
  if (relay === undefined) return {};
  const { feePayer, payTo, mint, maxFee } = relay;
  return { relayer: { feePayer, payTo, mint, maxAmount: maxFee.toString() } };
}

/** Returns a quote to show: its route is a copy, because the quote itself is still to be swapped. */
function shownQuote(quote: SwapQuote): Omit<SwapQuote, 'raw'> {
  const { raw: _raw, ...shown } = cleanQuote(quote);
  return shown;
}
