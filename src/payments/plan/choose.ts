import {
  isExactChangeError,
  TransportError,
  type ExactChangeError,
  type OfferRefusal,
} from '../../errors.js';
import {
  startDeadline,
  startLowPriority,
  untilAborted,
  type Deadline,
  type Following,
} from '../../internal/abort.js';
import { pinnedMint } from '../../network.js';
import type { Spend } from '../../policy/caps.js';
import { isRefusedOffer, isRefusedPlace, exceededCap } from '../../policy/check-payment.js';
import { protocolOf, type OfferReading, type PaymentProtocol } from '../../protocols/protocol.js';
import type { Offer, PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import type { Funding } from './funding.js';
import { readOfferAccounts, type OfferFacts } from './offer-accounts.js';
import { usdValueOf } from './usd-value.js';
import { reasons } from '../on-demand.js';

export interface Choice {
  readonly protocol: PaymentProtocol;
  readonly terms: PaymentRequired;
  readonly offer: Offer;
  readonly facts: OfferFacts;
  /** Millionths of a dollar; undefined if the mint has no price. */
  readonly microUsd: bigint | undefined;
  /** The swap that brings the missing tokens, if the choice had to compare swaps. */
  readonly funding: Funding | undefined;
  readonly refused: readonly OfferRefusal[];
}

export function spendOf(
  { offer, microUsd }: Pick<Choice, 'offer' | 'microUsd'>,
  host: string,
): Spend {
  const { mint, payTo, amount } = offer;
  const price = microUsd === undefined ? {} : { microUsd: microUsd.toString() };
  return { host, payTo, mint, amount: amount.toString(), ...price };
}

export type Priced = Pick<Choice, 'offer' | 'facts' | 'microUsd'>;

/**
 * For one 402, the most offers in tokens that are not pinned to request a price for: a seller may
 * name any number of tokens.
 */
const MAX_UNPINNED = 3;

/** Milliseconds for all requests that compare the offers of one 402. */
const COMPARE_MS = 30_000;

export type RefuseOffer = (
  offer: Offer,
  microUsd: bigint | undefined,
) => ExactChangeError | undefined;

export interface ChooseOptions {
  readonly host: string;
  readonly signal: AbortSignal | undefined;
  /** Finds the swap even for a single offer, which needs no comparison. */
  readonly quote: boolean;
  /** Refuses an offer for a reason of this call, beside the policy. */
  readonly refuse?: RefuseOffer | undefined;
}

/**
 * Chooses among the allowed offers of `accepts`. Prefers an offer that is payable without a swap,
 * then the cheapest offer including its swap, then the seller's order. Throws with each entry's
 * reason if no offer is payable.
 */
export async function choose(
  context: PaymentContext,
  terms: PaymentRequired,
  options: ChooseOptions,
): Promise<Choice> {
  const deadline = startDeadline(COMPARE_MS, options.signal);
  // Low priority for tokens that are not pinned, because a seller may name its own tokens at any
  // number of hosts.
  let lowPriority: Following | undefined;
  const signalFor = ({ mint }: Offer) =>
    pinnedMint(context.config.network, mint)
      ? deadline.signal
      : (lowPriority ??= startLowPriority(deadline.signal)).signal;
  try {
    // The choice only reads, so it may be abandoned while it waits for a node or a file.
    const choosing = chooseBefore(context, terms, options, deadline, signalFor);
    return await untilAborted(choosing, deadline.signal);
  } catch (error) {
    throw asTimeout(deadline, error);
  } finally {
    lowPriority?.end();
    deadline.end();
  }
}

async function chooseBefore(
  context: PaymentContext,
  terms: PaymentRequired,
  options: ChooseOptions,
  deadline: Deadline,
  signalFor: (offer: Offer) => AbortSignal,
): Promise<Choice> {
  const { network, signer, policy } = context.config;
  const { host } = options;
  const misplaced = isRefusedPlace(policy, host)
    ? (await reasons()).checkPlace(policy, host)
    : undefined;
  if (misplaced !== undefined) throw misplaced;
  const protocol = protocolOf(context.protocols, terms);
  const { terms: envelope, readings } = await protocol.offers(terms, network, signer.address);
  const refused = new Map<number, Refused>();
  for (const reading of readings) if (!reading.ok) refused.set(reading.refusal.index, reading);
  const refuse = ({ index }: Offer, error: ExactChangeError): void => {
    const { code, message } = error;
    refused.set(index, { error, refusal: { index, code, message } });
  };
  const choiceOf = (chosen: Priced, funding: Funding | undefined): Choice => ({
    protocol,
    terms: envelope,
    ...chosen,
    funding,
    refused: refusalsOf(refused),
  });

  const allowedOffers: Offer[] = [];
  for (const { offer } of readings.filter(isOk)) {
    const refusal = isRefusedOffer(policy, offer)
      ? (await reasons()).checkOffer(policy, offer)
      : undefined;
    if (refusal === undefined) allowedOffers.push(offer);
    else refuse(offer, refusal);
  }
  const usable: Priced[] = [];
  let unpinned = 0;
  for (const read of await readOfferAccounts(context, allowedOffers, deadline.signal)) {
    if ('error' in read) refuse(read.offer, read.error);
    else if (pinnedMint(network, read.offer.mint) === undefined && (unpinned += 1) > MAX_UNPINNED)
      refuse(read.offer, (await reasons()).notPriced(read.offer, MAX_UNPINNED));
    else usable.push({ offer: read.offer, facts: read.facts, microUsd: undefined });
  }

  let unpriced: ExactChangeError | undefined;
  const priceWithinCaps = async (priced: Priced): Promise<Priced | undefined> => {
    const { mint, amount } = priced.offer;
    const microUsd = await usdValueOf(
      context,
      mint,
      amount,
      priced.facts.decimals,
      signalFor(priced.offer),
    ).catch((error: unknown) => asUnpriced(asTimeout(deadline, error)));
    if (isExactChangeError(microUsd)) {
      refuse(priced.offer, microUsd);
      if (microUsd.name === 'TransportError') unpriced ??= microUsd;
      return undefined;
    }
    const spend = spendOf({ offer: priced.offer, microUsd }, host);
    const refusal =
      exceededCap(policy, spend) === undefined
        ? options.refuse?.(priced.offer, microUsd)
        : (await reasons()).checkPayment(policy, spend);
    if (refusal !== undefined) refuse(priced.offer, refusal);
    return refusal === undefined ? { ...priced, microUsd } : undefined;
  };
  const held = usable.filter(({ offer, facts }) => facts.available >= offer.amount);
  const payable = byPrice(await mapDefined(held, priceWithinCaps));
  if (payable[0] !== undefined) return choiceOf(payable[0], undefined);

  const short = byPrice(
    await mapDefined(
      usable.filter((offer) => !held.includes(offer)),
      priceWithinCaps,
    ),
  );
  const { autoSwap } = context.config;
  const [only, ...more] = short;
  if (autoSwap && only !== undefined && more.length === 0 && !options.quote)
    return choiceOf(only, undefined);
  const { chooseShort, nothingPayable } = await reasons();
  const best = await chooseShort(context, short, {
    toSwap: !options.quote,
    signalFor,
    explain: (error) => asTimeout(deadline, error),
    refuse,
  });
  if (best !== undefined) return choiceOf(best.priced, best.funding);
  // If Jupiter did not answer, throw that error, because a retry may help.
  if (unpriced !== undefined) throw unpriced;
  throw nothingPayable(
    [...refused.values()].map(({ error }) => error),
    refusalsOf(refused),
  );
}

type Refused = Omit<OfferReading & { ok: false }, 'ok'>;

function refusalsOf(refused: ReadonlyMap<number, Refused>): OfferRefusal[] {
  return [...refused.values()].map(({ refusal }) => refusal).sort((a, b) => a.index - b.index);
}

function isOk(reading: OfferReading): reading is OfferReading & { ok: true } {
  return reading.ok;
}

/** Maps the items of a list one after the other, and drops undefined results. */
async function mapDefined<T>(
  list: readonly T[],
  map: (item: T) => Promise<T | undefined>,
): Promise<T[]> {
  const kept: T[] = [];
  for (const item of list) {
    const mapped = await map(item);
    if (mapped !== undefined) kept.push(mapped);
  }
  return kept;
}

function asTimeout({ passed, signal }: Deadline, error: unknown): unknown {
  if (!passed || error !== signal.reason) return error;
  return new TransportError(
    'timeout',
    `Jupiter or the RPC node is too slow to compare the offers within ${COMPARE_MS} ms. Nothing was signed; try again.`,
    { details: { step: 'choose', timeoutMs: COMPARE_MS } },
  );
}

/**
 * Returns an error that refuses an offer because its price request failed. It refuses the offer
 * even if a cap in base units holds, because the dollar caps would count nothing without a price.
 */
function asUnpriced(error: unknown): ExactChangeError {
  if (isExactChangeError(error) && (error.name === 'TransportError' || error.name === 'QuoteError'))
    return error;
  throw error;
}

function byPrice(list: readonly Priced[]): Priced[] {
  const rank = ({ microUsd }: Priced) => (microUsd === undefined ? 2n ** 128n : microUsd);
  return [...list].sort((a, b) =>
    rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : a.offer.index - b.offer.index,
  );
}
