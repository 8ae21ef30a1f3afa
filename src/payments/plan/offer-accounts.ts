import { maxAmount } from '../../amount.js';
import type { ExactChangeError } from '../../errors.js';
import type { Fresh } from '../../journal/account-balance.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, pinnedMint, type PinnedMint } from '../../network.js';
import type { Offer } from '../../protocols/types.js';
import type { Account } from '../../solana/rpc/rpc.js';
import {
  associatedTokenAddress,
  plainAccount,
  plainMint,
  type PlainAccount,
  type PlainMint,
} from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom, type Memory } from '../memory.js';
import { reasons, swapEngine } from '../on-demand.js';
import { firstBeside } from './pinned-holdings.js';
import { readAccounts, type Read } from './read-accounts.js';

/** What the chain says of one token of the wallet. */
export interface OwnFacts {
  readonly decimals: number;
  /** Our token account. */
  readonly source: Address;
  /** Base units that the wallet holds and has not promised to payments in flight. */
  readonly available: bigint;
}

/** What the chain says about one offer. */
export interface OfferFacts extends OwnFacts {
  readonly tokenProgram: Address;
  /** The payee's token account. */
  readonly destination: Address;
}

export type ReadOffer =
  | { readonly offer: Offer; readonly facts: OfferFacts }
  | { readonly offer: Offer; readonly error: ExactChangeError };

/**
 * How long a balance is taken for true without asking again: other payers of the same wallet are
 * rare.
 */
const BALANCE_MAX_AGE_MS = 30_000;

/**
 * Reads what the offers need of the chain in one round, and nothing that is known already. With it,
 * or beside it if none can be paid without a swap as far as is known, what a swap is made from
 * first.
 */
export async function readOfferAccounts(
  context: PaymentContext,
  offers: readonly Offer[],
  signal: AbortSignal | undefined,
): Promise<ReadOffer[]> {
  const { memory } = context;
  const known = await Promise.all(offers.map((offer) => lookUp(context, memory, offer)));
  const unknown = new Set(known.flatMap((one) => one.unknown));
  const mayBeShort = unknown.size > 0 && !known.some(({ isPayable }) => isPayable);
  const beside = mayBeShort ? firstBeside(context) : undefined;
  if (beside !== undefined) for (const address of beside.addresses) unknown.add(address);
  else if (context.config.autoSwap && known.length > 0 && known.every(({ isShort }) => isShort))
    swapEngine()
      .then(({ shareFirst }) => shareFirst(context, signal))
      .catch(() => undefined);
  const accounts = await readAccounts(context, [...unknown], signal);
  const available = new Map(known.flatMap((one) => [...one.available]));
  const read: ReadOffer[] = [];
  for (const offer of offers) {
    const facts = await learn(context, memory, offer, accounts, available);
    read.push('code' in facts ? { offer, error: facts } : { offer, facts });
  }
  // If one of them can be paid as it is, nothing more of the wallet is of interest.
  if (read.every((one) => 'error' in one || one.facts.available < one.offer.amount))
    beside?.note(accounts).catch(() => undefined);
  else beside?.drop();
  return read;
}

/**
 * The balance of one of our accounts, less what is promised; undefined if it has to be read
 * first.
 */
export function knownAvailable(
  context: PaymentContext,
  source: Address,
): Promise<bigint | undefined> {
  return context.ledger.available(source, freshIn(context));
}

/**
 * Which balances are taken for true: none from before the clock was set back, and those that a
 * machine has seen whose clock is a little ahead.
 */
export function freshIn({ config: { runtime } }: PaymentContext): Fresh {
  const now = runtime.now();
  return { from: now - BALANCE_MAX_AGE_MS, to: now + BALANCE_MAX_AGE_MS };
}

function programsOf(context: PaymentContext, memory: Memory, mint: Address): readonly Address[] {
  const known = memory.mints.get(mint) ?? pinnedMint(context.config.network, mint);
  // An unknown mint's program is read in the same round as the accounts that depend on it, so both
  // are asked for.
  return known === undefined ? [TOKEN_PROGRAM, TOKEN_2022_PROGRAM] : [known.tokenProgram];
}

interface Known {
  /** What has to be read. */
  readonly unknown: readonly Address[];
  /** What our accounts have available that need not be. */
  readonly available: ReadonlyMap<Address, bigint>;
  /** One of our accounts has enough. */
  readonly isPayable: boolean;
  /** None of them has. */
  readonly isShort: boolean;
}

async function lookUp(
  context: PaymentContext,
  memory: Memory,
  { mint, payTo, amount: price }: Offer,
): Promise<Known> {
  const wallet = context.config.signer.address;
  const unknown: Address[] = memory.mints.has(mint) ? [] : [mint];
  const available = new Map<Address, bigint>();
  const programs = programsOf(context, memory, mint);
  for (const program of programs) {
    const source = associatedTokenAddress(wallet, mint, program);
    const destination = associatedTokenAddress(payTo, mint, program);
    const amount = await knownAvailable(context, source);
    if (amount === undefined) unknown.push(source);
    else available.set(source, amount);
    if (!memory.payees.has(destination)) unknown.push(payTo, destination);
  }
  const isPayable = [...available.values()].some((one) => one >= price);
  const isShort = available.size === programs.length && !isPayable;
  return { unknown, available, isPayable, isShort };
}

async function learn(
  context: PaymentContext,
  memory: Memory,
  offer: Offer,
  accounts: Read,
  available: ReadonlyMap<Address, bigint>,
): Promise<OfferFacts | ExactChangeError> {
  const { mint, payTo } = offer;
  const { signer, network, runtime } = context.config;
  let facts = memory.mints.get(mint);
  if (facts === undefined) {
    const account = accounts.get(mint)?.account;
    const pinned = pinnedMint(network, mint);
    const plain = account ? plainMint(account) : undefined;
    const judged =
      plain !== undefined && isAsPinned(plain, pinned)
        ? plain
        : (await reasons()).judgedMint(mint, account ?? undefined, pinned);
    if ('code' in judged) return judged;
    facts = { tokenProgram: judged.tokenProgram, decimals: judged.decimals };
    makeRoom(memory.mints);
    memory.mints.set(mint, facts);
  }
  const { tokenProgram, decimals } = facts;
  const { claimedDecimals } = offer;
  if (
    claimedDecimals !== undefined &&
    claimedDecimals !== decimals &&
    claimedDecimals !== String(decimals)
  )
    return (await reasons()).otherDecimals(mint, decimals);
  const destination = associatedTokenAddress(payTo, mint, tokenProgram);
  if (!memory.payees.has(destination)) {
    const isWallet = !isTokenProgram(accounts.get(payTo)?.account?.owner);
    const receiving = accounts.get(destination)?.account;
    const decoded = receiving ? await readAccount(receiving) : undefined;
    if (!isWallet || decoded?.mint !== mint || decoded.state !== 'initialized')
      return (await reasons()).payeeProblem(offer, destination, isWallet);
    makeRoom(memory.payees);
    memory.payees.add(destination);
  }
  const source = associatedTokenAddress(signer.address, mint, tokenProgram);
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
    // Another call may have had it forgotten since it was read.
    available: known ?? maxAmount(0n, read - (await context.ledger.held(source))),
  };
}

/** Accounts with extensions are read by what few payments load. */
async function readAccount(account: Account): Promise<PlainAccount | undefined> {
  return plainAccount(account) ?? (await reasons()).decodeTokenAccount(account);
}

/** Whether there is nothing to judge of a mint without extensions. */
function isAsPinned(
  { decimals, tokenProgram }: PlainMint,
  pinned: PinnedMint | undefined,
): boolean {
  return (
    pinned === undefined || (pinned.decimals === decimals && pinned.tokenProgram === tokenProgram)
  );
}

function isTokenProgram(program: Address | undefined): boolean {
  return program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;
}
