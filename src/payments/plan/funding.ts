import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { startLowPriority } from '../../internal/abort.js';
import { loadOnce } from '../../internal/load-once.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { Candidate, Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import {
  amountsFor,
  quoteAhead,
  requestFor,
  type QuoteAhead,
  type SearchOptions,
} from './ask-ahead.js';
import {
  candidatesByValue,
  candidatesIn,
  concernsCandidate,
  firstThatPays,
  MAX_COMPARED,
  MAX_UNSELLABLE,
  mayPay,
} from './candidate-queue.js';
import { cheapestOfAll, findTogether, foundAlone } from './cheapest.js';
import { readFirstHoldings, readAllHoldings } from './holdings.js';
import { KEEP_LAMPORTS } from './keep-lamports.js';
import { noneIfFailed } from './none-if-failed.js';
import { outdateHoldings } from './pinned-holdings.js';
import type { OwnFacts } from './offer-accounts.js';
import { askServicePlan, mayPlan } from './service-plan.js';
import { withRelay } from './relay.js';
import { outdateBalance, noTokenCovers } from './short-of.js';
import { quoteFrom, type QuotedSwap } from './swap-quote.js';

export type Funding =
  | QuotedSwap
  | (Pick<QuotedSwap, 'inputMint' | 'maxInAmount' | 'relay'> & { readonly wrap: bigint });

// jupiter.md 5.4: quotes are scarce, and a wallet may hold a hundred tokens.
export const MAX_CANDIDATES = 3;

export interface FundingOptions extends SearchOptions {
  /**
   * The offer that the swap most likely funds. A distant service is asked for the transaction along
   * with the quote.
   */
  readonly toPay?: Offer | undefined;
  /** No payment waits for the swap, so the known balance stays if no swap is found. */
  readonly beside?: boolean;
}

/**
 * Finds a token to swap from, and a quote that brings the missing amount at least. Brings
 * `policy.minSwap` if that is more and the wallet can afford it. Throws `insufficient_funds`, or the
 * best candidate's reason.
 *
 * @param needed - Base units that the wallet has to hold after the swap, for this payment and the
 *   payments that wait with it.
 */
export async function findFunding(
  context: PaymentContext,
  { mint }: Pick<Offer, 'mint'>,
  facts: OwnFacts,
  needed: bigint,
  options: FundingOptions,
): Promise<Funding> {
  const missing = needed - facts.available;
  const reading = readFirstHoldings(context, options.signal);
  const ahead = quoteAhead(context, mint, facts, missing, options).catch(() => undefined);
  const holdings = await reading;
  const find = async () => {
    const funding = await fundingOutOf(context, holdings, mint, facts, needed, options, ahead);
    return 'quote' in funding ? withRelay(context, funding, mint, options.signal) : funding;
  };
  return find().catch(async (error: unknown) => {
    // Read the holdings again next time, so that funds which the caller adds count at once.
    outdateHoldings(context);
    if (options.beside !== true) await outdateBalance(context, facts);
    throw error;
  });
}

async function fundingOutOf(
  context: PaymentContext,
  holdings: Holdings,
  mint: Address,
  facts: OwnFacts,
  needed: bigint,
  options: FundingOptions,
  ahead: Promise<QuoteAhead | undefined>,
): Promise<Funding> {
  const { signal, except, toPay, exact } = options;
  const missing = needed - facts.available;
  const wrapped = mint === WSOL_MINT && (await wrapOf(context, holdings, facts, missing, options));
  if (wrapped) return wrapped;
  const candidates = await candidatesIn(context, holdings, mint, except);
  const readOthers = loadOnce(async () => {
    if (context.config.swapFrom !== undefined) return [];
    const all = await candidatesIn(context, await readAllHoldings(context, signal), mint, except);
    return all.filter((candidate) => !isPinned(context, candidate.mint));
  });
  if (candidates.length === 0 && (await readOthers()).length === 0)
    throw noTokenCovers(context, mint, needed, facts);
  // Try the larger amount with all candidates first. Otherwise two tokens could be swapped back and
  // forth by candidates that afford no more than this payment.
  const amounts = await amountsFor(context, mint, facts, missing, exact, signal);
  const tried: Tried = { reasons: [], unsellable: new Set() };
  const inOrder = candidatesByValue(context, candidates, readOthers, signal);
  const search = async (candidate: Candidate, amount: bigint, within = signal) => {
    if (isPinned(context, mint) && !(await mayPay(context, candidate, mint, amount, within)))
      return noTokenCovers(context, mint, needed, facts);
    const request = requestFor(context, candidate, mint, amount);
    const given = (await ahead)?.(request);
    return quoteFrom(context, candidate, request, within, given).catch(asReason);
  };
  for (const amount of amounts) {
    const planned =
      toPay && (await planAtService(context, toPay, await inOrder.first(), amount, signal));
    if (planned !== undefined) return planned;
    const searchOf = async (candidate: Candidate) => ({
      candidate,
      found: await search(candidate, amount),
    });
    const [best, ...next] = isPinned(context, mint) ? inOrder.comparable : [];
    const searchOfBest = best === undefined ? undefined : searchOf(best);
    const found = searchOfBest?.then((result) => result.found);
    const cheap = found === undefined ? undefined : await foundAlone(context, found, signal);
    if (cheap !== undefined) return cheap;
    const together = searchOfBest === undefined ? [] : [searchOfBest, ...next.map(searchOf)];
    const compared = await findTogether(context, together, signal);
    const [first, ...more] = compared.flatMap(({ found }) => quoted(found));
    if (first !== undefined) {
      const others = async (later: AbortSignal) => {
        const next = (await inOrder.others(later)).slice(0, MAX_COMPARED);
        const found = next.map((candidate) => search(candidate, amount, later));
        return (await Promise.all(found)).flatMap(quoted);
      };
      return cheapestOfAll(context, [first, ...more], others, signal);
    }
    const known = new Map(compared.map(({ candidate, found }) => [candidate.mint, found]));
    const inTurn = async (candidate: Candidate) =>
      known.get(candidate.mint) ?? (await search(candidate, amount));
    const other = await firstFound(inOrder.all(), inTurn, isPinned(context, mint), tried);
    if (other !== undefined) return other;
    if (!tried.reasons.some(({ code }) => code === 'insufficient_funds')) break;
  }
  // Throw the best candidate's reason, unless that candidate only holds too little.
  throw (
    tried.reasons.find(({ code }) => code !== 'insufficient_funds') ??
    noTokenCovers(context, mint, needed, facts)
  );
}

/** Returns the native SOL to wrap; undefined if it may not be wrapped or is too little. */
async function wrapOf(
  context: PaymentContext,
  { lamports }: Holdings,
  facts: OwnFacts,
  missing: bigint,
  { signal, except, exact }: FundingOptions,
): Promise<Funding | undefined> {
  const { swapFrom } = context.config;
  if (swapFrom?.includes(WSOL_MINT) === false || except?.has(WSOL_MINT) === true) return undefined;
  const native = lamports - KEEP_LAMPORTS;
  const asking = amountsFor(context, WSOL_MINT, facts, missing, exact, signal);
  // A wrap needs no price.
  const amounts = (await asking.catch(noneIfFailed)) ?? [missing];
  const wrap = amounts.find((amount) => native >= amount);
  return wrap === undefined ? undefined : { inputMint: WSOL_MINT, maxInAmount: wrap, wrap };
}

/** What one search has learned of the candidates, for all amounts that it tries. */
interface Tried {
  /** Why no swap was found, in the order of the candidates. */
  readonly reasons: ExactChangeError[];
  readonly unsellable: Set<Address>;
}

/** Tries candidates one after the other, up to the limits. Returns the first swap that it finds. */
async function firstFound(
  candidates: AsyncIterable<Candidate>,
  search: (candidate: Candidate) => Promise<QuotedSwap | ExactChangeError>,
  intoPinned: boolean,
  { reasons, unsellable }: Tried,
): Promise<QuotedSwap | undefined> {
  let compared = 0;
  for await (const candidate of candidates) {
    if (unsellable.has(candidate.mint)) continue;
    if (compared >= MAX_CANDIDATES || unsellable.size >= MAX_UNSELLABLE) break;
    const found = await search(candidate);
    if (!isExactChangeError(found)) return found;
    reasons.push(found);
    // Tokens without a market must not use up the limit, because strangers send wallets trillions
    // of worthless tokens.
    if (found.code === 'no_route' || found.code === 'price_unknown') unsellable.add(candidate.mint);
    // Into a pinned mint, `insufficient_funds` may mean that a price showed too little value, so it
    // does not use up the limit either.
    else if (found.code !== 'insufficient_funds' || !intoPinned) compared += 1;
  }
  return undefined;
}

const quoted = (found: QuotedSwap | ExactChangeError): QuotedSwap[] =>
  isExactChangeError(found) ? [] : [found];

/**
 * Asks a distant service for the quote and the transaction of the first candidate that may hold
 * enough, in one call. Checks the quote like any other. Returns undefined if the quote does not
 * pass: then quote and transaction are requested separately.
 */
async function planAtService(
  context: PaymentContext,
  offer: Offer,
  candidates: readonly Candidate[],
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<Funding | undefined> {
  if (!mayPlan(context)) return undefined;
  const candidate = await firstThatPays(context, candidates, offer.mint, amount, signal);
  if (candidate === undefined) return undefined;
  const planned = await askServicePlan(context, offer, candidate.mint, amount, signal);
  if (planned === undefined) return undefined;
  const request = requestFor(context, candidate, offer.mint, amount);
  const found = await quoteFrom(context, candidate, request, signal, planned.quote).catch(asReason);
  return isExactChangeError(found) ? undefined : { ...found, built: planned.transaction };
}

/** Returns the base units that a swap or wrap brings at least, besides a relayer's highest fee. */
export function broughtBy(funding: Funding): bigint {
  if ('wrap' in funding) return funding.wrap;
  const { quote, relay } = funding;
  const fee = relay?.mint === quote.outputMint ? relay.maxFee : 0n;
  return BigInt(quote.minOutAmount) - fee;
}

/** Returns whether a mint is pinned: no seller can make up the price of a pinned mint. */
export function isPinned({ config }: PaymentContext, mint: Address): boolean {
  return pinnedMint(config.network, mint) !== undefined;
}

/**
 * Asks Jupiter about a swap into a mint. Uses low priority if the mint is not pinned, so that other
 * requests go first.
 */
export async function askAbout<T>(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
  ask: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (isPinned(context, mint)) return ask(signal);
  const lowPriority = startLowPriority(signal ?? context.closing.signal);
  return ask(lowPriority.signal).finally(() => lowPriority.end());
}

/**
 * Returns an error that concerns a single candidate, so that the search tries the next. Throws any
 * other error, such as a rate limit or an outage, which ends the search.
 */
function asReason(error: unknown): ExactChangeError {
  if (concernsCandidate(error) || isExactChangeError(error, 'insufficient_funds')) return error;
  throw error;
}
