import type { Reading } from '../../journal/account-balance.js';
import type { SignatureInfo } from '../../solana/rpc/rpc.js';
import type { AccountHistory, LookedAt } from './account-history.js';
import type { Listing } from './history-pages.js';
import type { Sent } from './fate.js';

/** Transactions that one look reads at a node; the next look goes on from there. */
export const READS_A_LOOK = 32;
/** A node that does not give so many of its own transactions is asked again later. */
export const MAX_UNREADABLE = 5;
/**
 * An account with more transactions than this in the life of a blockhash is flooded: not all of
 * them are read.
 */
const FLOOD = 1_000;

/**
 * Whether the balance of the source lacks nothing, at a final slot past the life of the blockhash:
 * what it held before, and all that its history shows since, leave what it holds.
 */
export async function isExplained(
  node: AccountHistory,
  listing: Listing,
  sent: Sent,
  { asOf, isIndexed }: { readonly asOf: number; readonly isIndexed: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const now = await node.balance(asOf, signal);
  const isLeft = async (before: Reading) => {
    // A failed transaction moves no tokens, but its payer pays the fee.
    const isMove = ({ slot, error }: SignatureInfo) =>
      slot > before.slot && slot <= now.slot && (error === null || sent.source.unit === 'lamports');
    const moves = listing.entries.filter(isMove);
    const moved = await movedBy(node, moves, signal);
    if (moved === undefined) return false;
    const left = (await heldAfter(node, listing, before, signal)) + moved;
    // More than that is not explained either: what brought it may hide what took less. Of a flood,
    // not all of the dust was read.
    const isWhole = moves.length > FLOOD ? now.amount >= left : now.amount === left;
    // One number of them may have been wrong; of more than one look reads, it would never be
    // through with them.
    if (!isWhole && isIndexed && moves.length <= READS_A_LOOK)
      for (const { signature } of moves) node.forget(signature);
    return isWhole;
  };
  const { before } = sent;
  if (before !== undefined && (await isLeft(before))) return true;
  // What was read at the time may have been on a fork, or of a node that was behind: the last
  // transaction before it says it too, if none is missing.
  if (before !== undefined && !isIndexed) return false;
  const base = await baseOf(node, listing, sent, signal);
  return base !== undefined && isLeft(base);
}

/**
 * What a reading is at the end of its slot: a node may have read in the middle of it, and given
 * that slot all the same.
 */
async function heldAfter(
  node: AccountHistory,
  { entries }: Listing,
  { slot, amount }: Reading,
  signal: AbortSignal,
): Promise<bigint> {
  let last: bigint | undefined;
  let isIn = false;
  for (const entry of entries.filter((one) => one.slot === slot).slice(0, READS_A_LOOK)) {
    const { amounts } = (await look(node, entry, signal)) ?? {};
    // Newest first: the first one with amounts ends the slot.
    if (amounts === undefined) continue;
    last ??= amounts.after;
    isIn ||= amounts.before === amount;
  }
  return isIn && last !== undefined ? last : amount;
}

/**
 * What transactions moved in all, as far as it is known; undefined if too little of it can be read
 * yet.
 */
async function movedBy(
  node: AccountHistory,
  entries: readonly SignatureInfo[],
  signal: AbortSignal,
): Promise<bigint | undefined> {
  let reads = 0;
  let moved = 0n;
  for (const entry of entries) {
    const isKnown = node.known(entry.signature) !== undefined;
    if (!isKnown && reads >= READS_A_LOOK) {
      // Dust by the thousand only adds to the balance: it must not keep the question open.
      if (entries.length <= FLOOD) return undefined;
      continue;
    }
    if (!isKnown) reads += 1;
    const found = await look(node, entry, signal);
    if (found === undefined) return undefined;
    if (found.amounts !== undefined) moved += found.amounts.after - found.amounts.before;
  }
  return moved;
}

/** What the source held after its last transaction before ours could land. */
async function baseOf(
  node: AccountHistory,
  { entries, older }: Listing,
  sent: Sent,
  signal: AbortSignal,
): Promise<Reading | undefined> {
  const before = [...entries, ...(older === undefined ? [] : [older])].filter(
    ({ slot }) => slot < sent.slot,
  );
  // An account without a past has begun with nothing.
  if (before.length === 0) return { amount: 0n, slot: -1 };
  for (const entry of before.slice(0, MAX_UNREADABLE)) {
    const found = await look(node, entry, signal);
    if (found?.amounts !== undefined) return { amount: found.amounts.after, slot: entry.slot };
  }
  return undefined;
}

/**
 * An entry's transaction; undefined if the node does not give it, or tells two slots of it, of
 * which one is wrong.
 */
async function look(
  node: AccountHistory,
  { signature, slot }: SignatureInfo,
  signal: AbortSignal,
): Promise<LookedAt | undefined> {
  const found = await node.read(signature, signal);
  if (found?.slot === undefined || found.slot === slot) return found;
  node.forget(signature);
  return undefined;
}
