import { maxAmount } from '../../amount.js';
import type { ExactChangeError } from '../../errors.js';
import type { Fresh } from '../../journal/account-balance.js';
import { isTokenProgram, pinnedMint, TOKEN_PROGRAMS, type PinnedMint } from '../../network.js';
import type { Offer } from '../../protocols/types.js';
import type { Account } from '../../solana/rpc/rpc.js';
import {
  associatedTokenAddress,
  plainAccount,
  plainMint,
  type PlainAccount,
  type PlainMint,
} from '../../solana/tokens/accounts.js';
import type { TokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom, type KnownMint } from '../memory.js';
import { reasons, swapEngine } from '../on-demand.js';
import { firstBeside } from './pinned-holdings.js';
import { readAccounts, type Read } from './read-accounts.js';

export interface OwnFacts {
  readonly decimals: number;
  readonly source: Address;
  /** Base units that the wallet holds and has not promised to payments in flight. */
  readonly available: bigint;
}

export interface OfferFacts extends OwnFacts {
  readonly tokenProgram: Address;
  readonly destination: Address;
}

export type ReadOffer =
  | { readonly offer: Offer; readonly facts: OfferFacts }
  | { readonly offer: Offer; readonly error: ExactChangeError };

/**
 * How long a known balance is trusted without a new read. Other processes that pay from the same
 * wallet are rare.
 */
const BALANCE_MAX_AGE_MS = 30_000;

/**
 * Reads the accounts that the offers need in a single round, without the facts that are known.
 *
 * If no offer is known to be payable without a swap, it also reads the holdings that a swap tries
 * first: in the same round, or in parallel if all offers are known to be short.
 */
export async function readOfferAccounts(
  context: PaymentContext,
  offers: readonly Offer[],
  signal: AbortSignal | undefined,
): Promise<ReadOffer[]> {
  const known = await Promise.all(offers.map((offer) => lookUpKnown(context, offer)));
  const unknown = new Set(known.flatMap((facts) => facts.unknown));
  const mayBeShort = unknown.size > 0 && !known.some(({ isPayable }) => isPayable);
  const beside = mayBeShort ? firstBeside(context) : undefined;
  if (beside !== undefined) for (const address of beside.addresses) unknown.add(address);
  else if (context.config.autoSwap && known.length > 0 && known.every(({ isShort }) => isShort))
    swapEngine()
      .then(({ readFirstHoldings }) => readFirstHoldings(context, signal))
      .catch(() => undefined);
  const accounts = await readAccounts(context, [...unknown], signal);
  const available = new Map(known.flatMap((facts) => [...facts.available]));
  const read: ReadOffer[] = [];
  for (const entry of known) {
    const facts = await learnFacts(context, entry, accounts, available);
    const { offer } = entry;
    read.push('code' in facts ? { offer, error: facts } : { offer, facts });
  }
  // If an offer can be paid without a swap, the wallet's other holdings do not matter.
  if (read.every((result) => 'error' in result || result.facts.available < result.offer.amount))
    beside?.note(accounts).catch(() => undefined);
  else beside?.drop();
  return read;
}

/**
 * Returns a wallet account's balance less its holds; undefined if the balance has to be read first.
 */
export function knownAvailable(
  context: PaymentContext,
  source: Address,
): Promise<bigint | undefined> {
  return context.ledger.available(source, freshIn(context));
}

/**
 * Returns the range of read times for which balances are trusted. It extends past now, because a
 * different machine's clock may be ahead. Its end excludes reads from before a clock was set back.
 */
export function freshIn({ config: { runtime } }: PaymentContext): Fresh {
  const now = runtime.now();
  return { from: now - BALANCE_MAX_AGE_MS, to: now + BALANCE_MAX_AGE_MS };
}

/** Returns what is known of the wallet's accounts, and the addresses that have to be read. */
async function lookUpKnown(context: PaymentContext, offer: Offer) {
  const { memory, config } = context;
  const { mint, payTo, amount: price } = offer;
  const wallet = config.signer.address;
  const facts = memory.mints.get(mint);
  const unknown: Address[] = facts ? [] : [mint];
  const available = new Map<Address, bigint>();
  const known = facts ?? pinnedMint(config.network, mint);
  // An unknown mint is read in the same round as the accounts that depend on its program, so read
  // the accounts of both programs.
  const programs = known ? [known.tokenProgram] : TOKEN_PROGRAMS;
  for (const program of programs) {
    const source = associatedTokenAddress(wallet, mint, program);
    const destination = associatedTokenAddress(payTo, mint, program);
    const amount = await knownAvailable(context, source);
    if (amount === undefined) unknown.push(source);
    else available.set(source, amount);
    if (!memory.payees.has(destination)) unknown.push(payTo, destination);
  }
  const isPayable = [...available.values()].some((balance) => balance >= price);
  const isShort = available.size === programs.length && !isPayable;
  return { offer, facts, unknown, available, isPayable, isShort };
}

async function learnFacts(
  context: PaymentContext,
  // The memory may have been emptied since the look-up: what was not read was known.
  { offer, facts }: { readonly offer: Offer; facts: KnownMint | undefined },
  accounts: Read,
  available: ReadonlyMap<Address, bigint>,
): Promise<OfferFacts | ExactChangeError> {
  const { mint, payTo } = offer;
  const { memory } = context;
  const { signer, network, runtime } = context.config;
  if (facts === undefined) {
    const account = accounts.get(mint)?.account;
    const pinned = pinnedMint(network, mint);
    const plain = account ? plainMint(account) : undefined;
    const judged =
      plain !== undefined && matchesPinned(plain, pinned)
        ? plain
        : (await reasons()).judgedMint(mint, account ?? undefined, pinned);
    if ('code' in judged) return judged;
    facts = { tokenProgram: judged.tokenProgram, decimals: judged.decimals };
    makeRoom(memory.mints);
    memory.mints.set(mint, facts);
  }
  const { tokenProgram, decimals } = facts;
  const right: readonly unknown[] = [undefined, decimals, String(decimals)];
  if (!right.includes(offer.claimedDecimals))
    return (await reasons()).otherDecimals(mint, decimals);
  const destination = associatedTokenAddress(payTo, mint, tokenProgram);
  const source = associatedTokenAddress(signer.address, mint, tokenProgram);
  if (offer.feePayer === destination || offer.feePayer === source)
    return (await reasons()).feePayerProblem(offer);
  if (accounts.has(destination)) {
    const isWallet = !isTokenProgram(accounts.get(payTo)?.account?.owner);
    const receiving = accounts.get(destination)?.account;
    const decoded = receiving ? await readAccount(receiving) : undefined;
    if (
      !isWallet ||
      decoded?.mint !== mint ||
      decoded.state !== 'initialized' ||
      decoded.requiresMemo ||
      decoded.isConfidential
    )
      return (await reasons()).payeeProblem(offer, destination, isWallet, decoded);
    makeRoom(memory.payees);
    memory.payees.add(destination);
  }
  const own = accounts.get(source);
  let read = 0n;
  if (own !== undefined) {
    const { account, slot } = own;
    const decoded = account ? await readAccount(account) : undefined;
    if (decoded?.state === 'frozen') return (await reasons()).frozenAccount(source);
    const usable =
      decoded !== undefined && decoded.owner === signer.address && decoded.mint === mint;
    read = usable ? decoded.amount : 0n;
    await context.ledger.see(source, { amount: read, at: runtime.now(), slot });
  }
  const known = available.get(source) ?? (await knownAvailable(context, source));
  return {
    tokenProgram,
    decimals,
    source,
    destination,
    // A concurrent call may have made the ledger forget the balance since the read.
    available: known ?? maxAmount(0n, read - (await context.ledger.held(source))),
  };
}

/** Decodes a token account. Loads code for accounts with extensions, which few payments need. */
async function readAccount(
  account: Account,
): Promise<(PlainAccount & Partial<TokenAccount>) | undefined> {
  return plainAccount(account) ?? (await reasons()).decodeTokenAccount(account);
}

function matchesPinned(
  { decimals, tokenProgram }: PlainMint,
  pinned: PinnedMint | undefined,
): boolean {
  return (
    pinned === undefined || (pinned.decimals === decimals && pinned.tokenProgram === tokenProgram)
  );
}
