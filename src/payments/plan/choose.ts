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
import { isRefusedOffer, isRefusedPlace, overOf } from '../../policy/check-payment.js';
import { protocolOf, type OfferReading, type PaymentProtocol } from '../../protocols/protocol.js';
import type { Offer, PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import type { Funding } from './funding.js';
import { readOfferAccounts, type OfferFacts } from './offer-accounts.js';
import { usdValueOf } from './usd-value.js';
import { reasons } from '../on-demand.js';

/** The offer to pay, and how. */
export interface Choice {
  readonly protocol: PaymentProtocol;
  /** The envelope that the offer is from. */
  readonly terms: PaymentRequired;
  readonly offer: Offer;
  readonly facts: OfferFacts;
  /** Millionths of a dollar; undefined if the mint has no price. */
  readonly microUsd: bigint | undefined;
  /** The swap that gets what is missing, if one had to be compared already. */
  readonly funding: Funding | undefined;
  readonly refused: readonly OfferRefusal[];
}

/** What the caps look at. */
export function spendOf(
  { offer, microUsd }: Pick<Choice, 'offer' | 'microUsd'>,
  host: string,
): Spend {
  const { mint, payTo, amount } = offer;
  const price = microUsd === undefined ? {} : { microUsd: microUsd.toString() };
  return { host, payTo, mint, amount: amount.toString(), ...price };
}

/** An offer with its price, as far as it is known. */
export interface Priced {
  readonly offer: Offer;
  readonly facts: OfferFacts;
  readonly microUsd: bigint | undefined;
}

/**
 * Offers in tokens that are not pinned whose price is asked for, for one 402: a seller may name any
 * number of tokens.
 */
const MAX_UNPINNED = 3;

/** For all that is asked to compare the offers of one 402, in milliseconds. */
const COMPARE_MS = 30_000;

/** How to choose. */
export interface ChooseOptions {
  /** Of the place that asks. */
  readonly host: string;
  readonly signal: AbortSignal | undefined;
  /** Find the swap even if there is nothing to compare it with. */
  readonly quote: boolean;
  /** Refuses offers for a reason of the call's own. */
  readonly refuse?: (
    offer: Offer,
    microUsd: bigint | undefined,
    facts: OfferFacts,
  ) => ExactChangeError | undefined;
}

/**
 * Chooses among `accepts`: allowed, payable without a swap, then cheapest including the swap, then
 * the seller's order.
 * Throws if nothing is payable, with every entry's reason.
 */
export async function choose(
  context: PaymentContext,
  terms: PaymentRequired,
  options: ChooseOptions,
): Promise<Choice> {
  const deadline = startDeadline(COMPARE_MS, options.signal);
  // A seller that names its own tokens may have any number of them priced, at any number of hosts.
  let givingWay: Following | undefined;
  const signalFor = ({ mint }: Offer) =>
    pinnedMint(context.config.network, mint)
      ? deadline.signal
      : (givingWay ??= startLowPriority(deadline.signal)).signal;
  try {
    // It reads only, so what waits for a node, or a file, may be left alone.
    const choosing = chooseBefore(context, terms, options, deadline, signalFor);
    return await untilAborted(choosing, deadline.signal);
  } catch (error) {
    throw inTime(deadline, error);
  } finally {
    givingWay?.end();
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
  const refused = new Map<number, ExactChangeError>();
  const untrusted = new Map(
    readings.flatMap((one) => (one.ok ? [] : [[one.refusal.index, one.refusal] as const])),
  );
  for (const reading of readings)
    if (!reading.ok) refused.set(reading.refusal.index, reading.error);
  const done = (chosen: Priced, funding: Funding | undefined): Choice => ({
    protocol,
    terms: envelope,
    ...chosen,
    funding,
    refused: refusals(refused, untrusted),
  });

  const welcome: Offer[] = [];
  for (const { offer } of readings.filter(isOk)) {
    const refusal = isRefusedOffer(policy, offer)
      ? (await reasons()).checkOffer(policy, offer)
      : undefined;
    if (refusal === undefined) welcome.push(offer);
    else refused.set(offer.index, refusal);
  }
  const priced: Priced[] = [];
  let unpinned = 0;
  for (const one of await readOfferAccounts(context, welcome, deadline.signal)) {
    if ('error' in one) refused.set(one.offer.index, one.error);
    else if (pinnedMint(network, one.offer.mint) === undefined && (unpinned += 1) > MAX_UNPINNED)
      refused.set(one.offer.index, (await reasons()).notPriced(one.offer, MAX_UNPINNED));
    else priced.push({ offer: one.offer, facts: one.facts, microUsd: undefined });
  }

  let unpriced: ExactChangeError | undefined;
  const allowed = async (one: Priced): Promise<Priced | undefined> => {
    const { mint, amount } = one.offer;
    const microUsd = await usdValueOf(
      context,
      mint,
      amount,
      one.facts.decimals,
      signalFor(one.offer),
    ).catch((error: unknown) => asUnpriced(inTime(deadline, error)));
    if (isExactChangeError(microUsd)) {
      refused.set(one.offer.index, microUsd);
      if (microUsd.name === 'TransportError') unpriced ??= microUsd;
      return undefined;
    }
    const spend = spendOf({ offer: one.offer, microUsd }, host);
    const refusal =
      overOf(policy, spend) === undefined
        ? options.refuse?.(one.offer, microUsd, one.facts)
        : (await reasons()).checkPayment(policy, spend);
    if (refusal !== undefined) refused.set(one.offer.index, refusal);
    return refusal === undefined ? { ...one, microUsd } : undefined;
  };
  const held = priced.filter(({ offer, facts }) => facts.available >= offer.amount);
  const payable = byPrice(await keep(held, allowed));
  if (payable[0] !== undefined) return done(payable[0], undefined);

  const short = byPrice(
    await keep(
      priced.filter((one) => !held.includes(one)),
      allowed,
    ),
  );
  const { autoSwap } = context.config;
  const [only, ...more] = short;
  if (autoSwap && only !== undefined && more.length === 0 && !options.quote)
    return done(only, undefined);
  const { chooseShort, nothingPayable } = await reasons();
  const best = await chooseShort(context, short, {
    toSwap: !options.quote,
    signalFor,
    explain: (error) => inTime(deadline, error),
    refuse: ({ index }, reason) => refused.set(index, reason),
  });
  if (best !== undefined) return done(best.one, best.funding);
  // If Jupiter is away, that is the reason, and trying again helps.
  if (unpriced !== undefined) throw unpriced;
  throw nothingPayable(refused, refusals(refused, untrusted));
}

function refusals(
  refused: ReadonlyMap<number, ExactChangeError>,
  read: ReadonlyMap<number, OfferRefusal>,
): OfferRefusal[] {
  return [...refused]
    .sort(([a], [b]) => a - b)
    .map(([index, { code, message }]) => read.get(index) ?? { index, code, message });
}

function isOk(reading: OfferReading): reading is OfferReading & { ok: true } {
  return reading.ok;
}

async function keep<T>(list: readonly T[], pick: (one: T) => Promise<T | undefined>): Promise<T[]> {
  const kept: T[] = [];
  for (const one of list) {
    const picked = await pick(one);
    if (picked !== undefined) kept.push(picked);
  }
  return kept;
}

/** What a step failed with, in words of ours if it was its deadline. */
function inTime({ passed, signal }: Deadline, error: unknown): unknown {
  if (!passed || error !== signal.reason) return error;
  return new TransportError(
    'timeout',
    `The offers could not be compared within ${COMPARE_MS} ms, for Jupiter or the RPC node is slow. Nothing was signed; try again.`,
    { details: { step: 'choose', timeoutMs: COMPARE_MS } },
  );
}

/**
 * A price that could not be asked for refuses its offer, also if a cap in base units would hold:
 * without it the dollar caps count nothing.
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
