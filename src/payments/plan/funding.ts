import { maxAmount } from '../../amount.js';
import type { ResolvedRequest } from '../../config/swap-request.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { startLowPriority } from '../../internal/abort.js';
import { loadOnce } from '../../internal/load-once.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { Candidate, Holdings } from '../../swaps/quote/candidates.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import type { SwapQuote } from '../../swaps/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { amountsFor, quoteAhead, requestFor, type QuoteAhead } from './ask-ahead.js';
import { concernsCandidate } from './candidate-errors.js';
import {
  candidatesByValue,
  candidatesIn,
  firstThatPays,
  KEEP_LAMPORTS,
  MAX_COMPARED,
  MAX_UNSELLABLE,
  mayPay,
} from './candidate-queue.js';
import { cheapestOfAll, findTogether, foundAlone } from './cheapest.js';
import { shareFirst, shareHoldings } from './holdings.js';
import { outdateHoldings } from './pinned-holdings.js';
import type { OwnFacts } from './offer-accounts.js';
import { askServicePlan } from './service-plan.js';
import { withRelay } from './relay.js';
import { forgetBalance, short } from './short-of.js';
import { checkAvailable, quoteForPayment, type GivenQuote } from './swap-quote.js';
import { floatOf } from './usd-price.js';

/** How to get what is missing: a swap by quote, or SOL wrapped as it is. */
export type Funding = {
  readonly inputMint: Address;
  readonly maxInAmount: bigint;
  /** What pays its lamports if the wallet cannot; the most that it takes is in what goes in. */
  readonly relay?: RelayOffer;
} & (
  | {
      readonly quote: SwapQuote;
      /** What may be spent of the input, however often it is quoted anew. */
      readonly available: bigint;
      /** What the service built for the quote, if it was asked for both at once. */
      readonly built?: unknown;
    }
  | { readonly wrap: bigint }
);

// jupiter.md 5.4: quotes are scarce, and a wallet may hold a hundred tokens.
export const MAX_CANDIDATES = 3;

/** How to look for a swap. */
export interface FundingOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Tokens that are not swapped from: a swap out of them came to nothing,
   * {@link concernsCandidate}.
   */
  readonly except?: ReadonlySet<Address>;
  /**
   * The offer that it will most likely be made for: a service is asked for its transaction along
   * with the quote.
   */
  readonly toPay?: Offer | undefined;
  /** No more than what is missing, however small that is. */
  readonly exact?: boolean;
  /** No payment waits for it: if there is none, what is known for payments stays. */
  readonly beside?: boolean;
}

/**
 * Finds a token to swap from and a quote that brings at least what is missing: a little more if
 * that is affordable, so that small calls do not each cost a swap. Throws `insufficient_funds`, or
 * the last candidate's reason.
 *
 * @param needed - Base units that have to be there in the end, for this payment and those that wait
 *   with it.
 */
export async function findFunding(
  context: PaymentContext,
  { mint }: Pick<Offer, 'mint'>,
  facts: OwnFacts,
  needed: bigint,
  options: FundingOptions,
): Promise<Funding> {
  const missing = needed - facts.available;
  const reading = shareFirst(context, options.signal);
  const ahead = quoteAhead(context, mint, facts, missing, options).catch(() => undefined);
  const holdings = await reading;
  const find = async () => {
    const funding = await fundingOutOf(context, holdings, mint, facts, needed, options, ahead);
    if (!('quote' in funding)) return funding;
    return withRelay(context, funding, mint, options.signal);
  };
  return find().catch(async (error: unknown) => {
    // What the caller does about it shows at once.
    outdateHoldings(context);
    if (options.beside !== true) await forgetBalance(context, facts);
    throw error;
  });
}

async function fundingOutOf(
  context: PaymentContext,
  holdings: Holdings,
  mint: Address,
  facts: OwnFacts,
  needed: bigint,
  { signal, except = new Set(), toPay, exact = false }: FundingOptions,
  ahead: Promise<QuoteAhead | undefined>,
): Promise<Funding> {
  const missing = needed - facts.available;
  if (
    mint === WSOL_MINT &&
    context.config.swapFrom?.includes(WSOL_MINT) !== false &&
    !except.has(WSOL_MINT)
  ) {
    const native = holdings.lamports - (await context.ledger.held(holdings.wallet)) - KEEP_LAMPORTS;
    // Wrapping needs no market: without a price there is no float.
    const float = exact
      ? missing
      : maxAmount(
          missing,
          await floatOf(context, mint, facts.decimals, signal).catch(noneWithoutPrice),
        );
    const wrap = native >= float ? float : missing;
    if (native >= wrap) return { inputMint: WSOL_MINT, maxInAmount: wrap, wrap };
  }
  const candidates = await candidatesIn(context, holdings, mint, except);
  const readOthers = loadOnce(async () => {
    if (context.config.swapFrom !== undefined) return [];
    const all = await candidatesIn(context, await shareHoldings(context, signal), mint, except);
    return all.filter((candidate) => !isPinned(context, candidate.mint));
  });
  if (candidates.length === 0 && (await readOthers()).length === 0)
    throw short(ownerOf(context), mint, needed, facts);
  // Any candidate that affords the float comes before one that affords no more than this payment,
  // or two tokens would be swapped to and fro.
  const wanted = await amountsFor(context, mint, facts, missing, exact, signal);
  const reasons: ExactChangeError[] = [];
  const inOrder = candidatesByValue(context, candidates, readOthers, signal);
  const unsellable = new Set<Address>();
  const search = async (candidate: Candidate, amount: bigint, within = signal) => {
    if (isPinned(context, mint) && !(await mayPay(context, candidate, mint, amount, within)))
      return short(ownerOf(context), mint, needed, facts);
    const request = requestFor(context, candidate, mint, amount);
    const given = (await ahead)?.of(request);
    const quote = await quoteFrom(context, candidate, request, within, given).catch(asReason);
    return isExactChangeError(quote) ? quote : fundedBy(candidate, quote);
  };
  for (const amount of wanted) {
    const foreseen =
      toPay && (await planAtService(context, toPay, await inOrder.first(), amount, signal));
    if (foreseen !== undefined) return foreseen;
    const searchOf = async (candidate: Candidate) => ({
      candidate,
      found: await search(candidate, amount),
    });
    const [best, ...next] = isPinned(context, mint) ? inOrder.comparable : [];
    const alone = best === undefined ? undefined : searchOf(best);
    const found = alone?.then((one) => one.found);
    const cheap = found === undefined ? undefined : await foundAlone(context, found, signal);
    if (cheap !== undefined) return cheap;
    const together = alone === undefined ? [] : [alone, ...next.map(searchOf)];
    const tried = await findTogether(context, together, signal);
    const [first, ...more] = tried.flatMap(({ found }) => quoted(found));
    if (first !== undefined) {
      const others = async (later: AbortSignal) => {
        const next = (await inOrder.others(later)).slice(0, MAX_COMPARED);
        const found = next.map((candidate) => search(candidate, amount, later));
        return (await Promise.all(found)).flatMap(quoted);
      };
      return cheapestOfAll(context, [first, ...more], others, signal);
    }
    const known = new Map(tried.map(({ candidate, found }) => [candidate.mint, found]));
    let compared = 0;
    for await (const candidate of inOrder.all()) {
      if (unsellable.has(candidate.mint)) continue;
      if (compared >= MAX_CANDIDATES || unsellable.size >= MAX_UNSELLABLE) break;
      const found = known.get(candidate.mint) ?? (await search(candidate, amount));
      if (!isExactChangeError(found)) return found;
      reasons.push(found);
      // What has no market must not stand in the way of what has one: wallets are sent worthless
      // tokens by the trillion.
      if (found.code === 'no_route' || found.code === 'price_unknown')
        unsellable.add(candidate.mint);
      // So is told what is worth too little, of a candidate whose price was not known yet.
      else if (found.code !== 'insufficient_funds' || !isPinned(context, mint)) compared += 1;
    }
    if (!reasons.some(({ code }) => code === 'insufficient_funds')) break;
  }
  // The best candidate's reason says the most, unless it merely holds too little.
  throw (
    reasons.find(({ code }) => code !== 'insufficient_funds') ??
    short(ownerOf(context), mint, needed, facts)
  );
}

type Quoted = Funding & { readonly quote: SwapQuote };

const quoted = (found: Quoted | ExactChangeError): Quoted[] =>
  isExactChangeError(found) ? [] : [found];

/**
 * The swap of the first candidate that holds enough, as a distant service plans it in one call. It
 * is judged as the quote of that candidate would be; undefined if it would not pass for it, and
 * each part has to be asked for.
 */
async function planAtService(
  context: PaymentContext,
  offer: Offer,
  candidates: readonly Candidate[],
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<Funding | undefined> {
  if (context.transport.distant !== true) return undefined;
  const candidate = await firstThatPays(context, candidates, offer.mint, amount, signal);
  if (candidate === undefined) return undefined;
  const planned = await askServicePlan(
    context,
    offer,
    { inputMint: candidate.mint, amount },
    signal,
  );
  if (planned === undefined) return undefined;
  const request = requestFor(context, candidate, offer.mint, amount);
  const quote = await quoteFrom(context, candidate, request, signal, planned.quote).catch(asReason);
  return isExactChangeError(quote)
    ? undefined
    : { ...fundedBy(candidate, quote), built: planned.transaction };
}

function fundedBy({ mint, available }: Candidate, quote: SwapQuote): Quoted {
  return { inputMint: mint, maxInAmount: BigInt(quote.maxInAmount), quote, available };
}

/** Base units of the asked-for mint that it brings at least. */
export function broughtBy(funding: Funding): bigint {
  return 'quote' in funding ? BigInt(funding.quote.minOutAmount) : funding.wrap;
}

async function quoteFrom(
  context: PaymentContext,
  { available }: Candidate,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
  given?: GivenQuote,
): Promise<SwapQuote> {
  const quote = await quoteForPayment(context, request, signal, given);
  checkAvailable(context.config.network, quote, available);
  return quote;
}

/** Whether a mint is one of those whose worth no seller can make up. */
export function isPinned({ config }: PaymentContext, mint: Address): boolean {
  return pinnedMint(config.network, mint) !== undefined;
}

/**
 * Asks Jupiter about a swap into a mint; about one that is not pinned, in a way that gives way to
 * others.
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

function noneWithoutPrice(error: unknown): bigint {
  if (isExactChangeError(error)) return 0n;
  throw error;
}

/**
 * What concerns one candidate passes to the next; what concerns all of them (a rate limit, an
 * outage) ends the search.
 */
function asReason(error: unknown): ExactChangeError {
  if (concernsCandidate(error) || isExactChangeError(error, 'insufficient_funds')) return error;
  throw error;
}
