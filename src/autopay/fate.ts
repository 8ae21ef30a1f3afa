import type { Reading } from '../journal/book.js';
import type { Attempt, SignedPayment, SignedSwap } from '../journal/types.js';
import { WSOL_MINT } from '../network.js';
import type { Landing } from '../solana/confirm.js';
import type { SignatureInfo } from '../solana/rpc.js';
import type { Address } from '../solana/types.js';
import type { AccountHistory, Histories, LookedAt, Source } from './account-history.js';
import type { Listing } from './history-pages.js';

/** What the chain says about a transaction that this wallet signed. */
export type Fate =
  /** It landed; `error` is null if it went well. A landed failure can never succeed: the chain takes the same message once. */
  | { readonly state: 'landed'; readonly signature: string; readonly slot: number; readonly error: string | null }
  /** It did not land and never will. */
  | { readonly state: 'never' }
  | { readonly state: 'open' };

/** A transaction that this wallet signed, with all that its fate is told by. */
export interface Sent {
  /** Our signature in it. */
  readonly signature: string;
  /** Whether our signature is the transaction's id: it is if we pay the fee. */
  readonly isId: boolean;
  /** The id that the seller says it has: looked at first, believed only with our signature in it. */
  readonly claim?: string | undefined;
  /** What its memo says, if it has one of its own. */
  readonly memo?: string | undefined;
  /** What it takes from. */
  readonly source: Source;
  /** What the source held before it was signed, as of a slot. */
  readonly before?: Reading | undefined;
  /** What the source held when the signed bytes were handed to us: a swap and a payment that no index shows yet may make up for each other. */
  readonly handed?: Reading | undefined;
  /** It cannot have landed before this slot. */
  readonly slot: number;
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  readonly lastValidBlockHeight: bigint;
}

const OPEN: Fate = { state: 'open' };
const NEVER: Fate = { state: 'never' };

/** Transactions that one look reads at a node; the next look goes on from there. */
const READS_A_LOOK = 32;
/** A node that does not give so many of its own transactions is asked again later. */
const MAX_UNREADABLE = 5;
/** An account with more transactions than this in the life of a blockhash is flooded: not all of them are read. */
const FLOOD = 1_000;

/** A blockhash is at most 150 blocks old when it is used last, and slots may pass without a block. */
export const SLOT_MARGIN = 364;

// A transaction id is the fee payer's signature, which only the facilitator makes; ours is inside.
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/**
 * Asks the chain once what became of a transaction. Our own signature in a landed transaction is proof that it landed. That it never will takes two
 * witnesses, which no index can delay together, from two nodes if there are two:
 * - the search: at a final slot past the life of the blockhash, as the node itself judges that, the source's whole history has no such transaction;
 * - the balance of the source at such a slot lacks nothing that its history does not explain.
 */
export async function fateOf(histories: Histories, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const failures: unknown[] = [];
  const nodes = histories.of(sent.source);
  let never = 0;
  for (const node of nodes) {
    try {
      const fate = await askNode(node, sent, signal);
      if (fate.state === 'landed') return fate;
      if (fate.state === 'never' && (never += 1) >= Math.min(2, nodes.length)) return fate;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return OPEN;
}

async function askNode(node: AccountHistory, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const byId = sent.isId ? await statusOf(node, sent.signature, 0, signal) : await claimed(node, sent, signal);
  if (byId !== undefined) return byId;
  const tip = await node.tip(signal);
  // What landed up to the tip is in what is searched.
  const asOf = tip.height > sent.lastValidBlockHeight ? await expiredAt(node, sent, tip.slot, signal) : undefined;
  const listing = await node.since(earliest(sent), asOf ?? tip.slot, signal);
  const found = sent.isId ? listed(listing, sent.signature) : await search(node, listing, sent, signal);
  if (found !== undefined) return found;
  if (asOf === undefined || !listing.isComplete) return OPEN;
  if (sent.isId) {
    const late = await statusOf(node, sent.signature, asOf, signal);
    if (late !== undefined) return late;
  }
  if (!(await isExplained(node, listing, sent, asOf, signal))) return OPEN;
  // After the search: what a node has dropped meanwhile is no longer in it. One that cannot say may show something older.
  const first = await node.rpc.firstSlot({ signal }).catch(() => (showsOlder(listing, sent.slot) ? sent.slot : Infinity));
  return first <= sent.slot ? NEVER : OPEN;
}

/** A node that has not seen the blockhash yet would call it expired: it has to have seen as much as the node that gave it. */
async function expiredAt(
  node: AccountHistory,
  { blockhash, blockhashSlot }: Sent,
  tip: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  return tip < blockhashSlot ? undefined : node.expiredAsOf(blockhash, tip, signal);
}

function showsOlder({ entries, older }: Listing, than: number): boolean {
  return older !== undefined || entries.some(({ slot }) => slot < than);
}

function earliest({ slot, before }: Sent): number {
  return before === undefined ? slot : Math.min(slot, before.slot);
}

/** By its id, as far back as the node remembers; `open` while it is not confirmed. */
async function statusOf(node: AccountHistory, id: string, minContextSlot: number, signal: AbortSignal): Promise<Fate | undefined> {
  const [status = null] = await node.rpc.statuses([id], { history: true, minContextSlot, signal });
  if (status === null) return undefined;
  if (status.commitment === 'processed') return OPEN;
  return { state: 'landed', signature: id, slot: status.slot, error: status.error };
}

/** The index may know of it before the statuses do. */
function listed({ entries }: Listing, id: string): Fate | undefined {
  const entry = entries.find(({ signature }) => signature === id);
  return entry === undefined ? undefined : { state: 'landed', signature: id, slot: entry.slot, error: entry.error };
}

/** What the seller claims is read in vain at worst: it must not keep the search from being made. */
async function claimed(node: AccountHistory, { claim, signature }: Sent, signal: AbortSignal): Promise<Fate | undefined> {
  if (claim === undefined || !SIGNATURE.test(claim)) return undefined;
  return judge(await node.read(claim, signal), claim, signature);
}

function judge(found: LookedAt | undefined, id: string, ours: string): Fate | undefined {
  if (found?.signatures.includes(ours) !== true) return undefined;
  return { state: 'landed', signature: id, slot: found.slot, error: found.error };
}

/** Looks for the transaction among those of its source. Undefined if it is not there, `open` if that cannot be told yet. */
async function search(node: AccountHistory, { entries }: Listing, sent: Sent, signal: AbortSignal): Promise<Fate | undefined> {
  const tellsMemos = entries.some(({ memo }) => typeof memo === 'string' && memo !== '');
  // All that is listed, not what came after its slot alone: what a node says of a slot may be wrong.
  const candidates = entries.filter((entry) => mayBe(entry, sent, tellsMemos));
  let reads = 0;
  let unreadable = 0;
  for (const { signature } of candidates) {
    if (node.known(signature) === undefined && (reads += 1) > READS_A_LOOK) return OPEN;
    const found = await node.read(signature, signal);
    const fate = judge(found, signature, sent.signature);
    if (fate !== undefined) return fate;
    if (found === undefined && (unreadable += 1) >= MAX_UNREADABLE) return OPEN;
  }
  return unreadable === 0 ? undefined : OPEN;
}

/** A memo that the node does not tell, or an empty one, excludes nothing; unless the node tells those of others. */
function mayBe({ memo }: SignatureInfo, sent: Sent, tellsMemos: boolean): boolean {
  if (sent.memo === undefined) return true;
  return typeof memo === 'string' && memo !== '' ? memo.includes(sent.memo) : !tellsMemos;
}

/**
 * Whether the balance of the source lacks nothing, at a final slot past the life of the blockhash: what it held before, and all that its history shows
 * since, leave what it holds.
 */
async function isExplained(node: AccountHistory, listing: Listing, sent: Sent, asOf: number, signal: AbortSignal): Promise<boolean> {
  const now = await node.balance(asOf, signal);
  const isLeft = async (before: Reading) => {
    // A failed transaction moves no tokens, but its payer pays the fee.
    const isMove = ({ slot, error }: SignatureInfo) =>
      slot > before.slot && slot <= now.slot && (error === null || sent.source.unit === 'lamports');
    const moves = listing.entries.filter(isMove);
    const moved = await movedBy(node, moves, signal);
    if (moved === undefined) return false;
    const left = (await heldAfter(node, listing, before, signal)) + moved;
    // More than that is not explained either: what brought it may hide what took less. Of a flood, not all of the dust was read.
    return moves.length > FLOOD ? now.amount >= left : now.amount === left;
  };
  if (sent.handed !== undefined && !(await isLeft(sent.handed))) return false;
  const { before } = sent;
  if (before !== undefined && (await isLeft(before))) return true;
  // What was read at the time may have been on a fork: the last transaction before it says it too, unless the index has seen nothing since then.
  if (before !== undefined && !listing.entries.some(({ slot }) => slot >= before.slot)) return false;
  const base = await baseOf(node, listing, sent, signal);
  return base !== undefined && isLeft(base);
}

/** What a reading is at the end of its slot: a node may have read in the middle of it, and given that slot all the same. */
async function heldAfter(node: AccountHistory, { entries }: Listing, { slot, amount }: Reading, signal: AbortSignal): Promise<bigint> {
  let last: bigint | undefined;
  let isIn = false;
  for (const { signature } of entries.filter((entry) => entry.slot === slot).slice(0, READS_A_LOOK)) {
    const { amounts } = (await node.read(signature, signal)) ?? {};
    // Newest first: the first one with amounts ends the slot.
    if (amounts === undefined) continue;
    last ??= amounts.after;
    isIn ||= amounts.before === amount;
  }
  return isIn && last !== undefined ? last : amount;
}

/** What transactions moved in all, as far as it is known; undefined if too little of it can be read yet. */
async function movedBy(node: AccountHistory, entries: readonly SignatureInfo[], signal: AbortSignal): Promise<bigint | undefined> {
  let reads = 0;
  let moved = 0n;
  for (const { signature } of entries) {
    const isKnown = node.known(signature) !== undefined;
    if (!isKnown && reads >= READS_A_LOOK) {
      // Dust by the thousand only adds to the balance: it must not keep the question open.
      if (entries.length <= FLOOD) return undefined;
      continue;
    }
    if (!isKnown) reads += 1;
    const found = await node.read(signature, signal);
    if (found === undefined) return undefined;
    if (found.amounts !== undefined) moved += found.amounts.after - found.amounts.before;
  }
  return moved;
}

/** What the source held after its last transaction before ours could land. */
async function baseOf(node: AccountHistory, { entries, older }: Listing, sent: Sent, signal: AbortSignal): Promise<Reading | undefined> {
  const before = [...entries, ...(older === undefined ? [] : [older])].filter(({ slot }) => slot < sent.slot);
  for (const { signature, slot } of before.slice(0, MAX_UNREADABLE)) {
    const found = await node.read(signature, signal);
    if (found?.amounts !== undefined) return { amount: found.amounts.after, slot };
  }
  return undefined;
}

/** A fate as what became of a transaction of ours that is being sent. */
export function landingOf(fate: Fate): Landing {
  if (fate.state === 'open') return { outcome: 'unknown' };
  if (fate.state === 'never') return { outcome: 'expired' };
  const { slot, error } = fate;
  return error === null ? { outcome: 'confirmed', slot } : { outcome: 'failed', error, slot };
}

/**
 * What the chain is asked about a signed swap. One that sells SOL takes lamports of the wallet, and pays its fee there.
 */
export function sentSwap(
  { signature, inputMint, source, before, blockhash, blockhashSlot, lastValidBlockHeight }: Omit<SignedSwap, 'transaction' | 'quoted'>,
  wallet: Address,
): Sent {
  return {
    ...{ signature, isId: true, blockhash, blockhashSlot, lastValidBlockHeight: BigInt(lastValidBlockHeight) },
    source: inputMint === WSOL_MINT ? { account: wallet, unit: 'lamports' } : { account: source, unit: 'tokens' },
    before: readingOf(before),
    slot: Math.max(0, blockhashSlot - SLOT_MARGIN),
  };
}

function readingOf(recorded: SignedPayment['before']): Reading | undefined {
  return recorded === undefined ? undefined : { amount: BigInt(recorded.amount), slot: recorded.slot };
}

/** What a signed payment takes from. */
export function sourceOf({ source }: Pick<SignedPayment, 'source'>): Source {
  return { account: source, unit: 'tokens' };
}

/** What the chain is asked about a signed payment. */
export function sentPayment({ receipt }: Pick<Attempt, 'receipt'>, payment: SignedPayment): Sent {
  const { payerSignature, memo, before, handed, slot, blockhash, blockhashSlot, lastValidBlockHeight } = payment;
  const claim = receipt?.settlement?.transaction;
  return {
    ...{ signature: payerSignature, isId: false, memo, slot, blockhash },
    claim: claim === '' ? undefined : claim,
    source: sourceOf(payment),
    before: readingOf(before),
    handed: readingOf(handed),
    blockhashSlot,
    lastValidBlockHeight: BigInt(lastValidBlockHeight),
  };
}
