import type { Reading } from '../../journal/account-balance.js';
import type { SignatureInfo } from '../../solana/rpc/rpc.js';
import type { AccountHistory, SeenTransaction } from './account-history.js';
import type { Listing } from './history-pages.js';
import type { SentTransaction } from './fate.js';

/** Transactions that one look reads from a node; the next look continues after them. */
export const READS_A_LOOK = 32;
/** A look gives up after this many listed transactions that the node does not give. */
export const MAX_UNREADABLE = 5;
/**
 * An account with more transactions than this while a blockhash lives is flooded: a look does not
 * read all of them.
 */
const FLOOD = 1_000;

/**
 * Returns whether the listed transactions explain the source's balance, so that no unlisted payment
 * took tokens: an earlier balance plus their changes gives the balance now.
 *
 * @param asOf - A final slot at which the blockhash is expired.
 */
export async function isExplained(
  node: AccountHistory,
  listing: Listing,
  sent: SentTransaction,
  { asOf, isIndexed }: { readonly asOf: number; readonly isIndexed: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const now = await node.balance(asOf, signal);
  const isExplainedFrom = async (start: Reading) => {
    // A failed transaction moves no tokens, but its fee payer still pays lamports.
    const isMove = ({ slot, error }: SignatureInfo) =>
      slot > start.slot && slot <= now.slot && (error === null || sent.source.unit === 'lamports');
    const moves = listing.entries.filter(isMove);
    const moved = await movedBy(node, moves, signal);
    if (moved === undefined) return false;
    const expected = (await heldAfter(node, listing, start, signal)) + moved;
    // A higher balance is unexplained too, because an unlisted deposit may hide a smaller payment.
    // In a flood it is accepted, because not all deposits of dust were read.
    const matches = moves.length > FLOOD ? now.amount >= expected : now.amount === expected;
    // The node may have given a wrong number, so the next look reads these transactions again.
    // If they exceed one look they stay: otherwise no look would ever finish them.
    if (!matches && isIndexed && moves.length <= READS_A_LOOK)
      for (const { signature } of moves) node.forget(signature);
    return matches;
  };
  const { before } = sent;
  if (before !== undefined && (await isExplainedFrom(before))) return true;
  // The balance read before signing may be from a dropped fork or from a node that lagged. The last
  // earlier transaction gives a balance too, if the index misses no transaction.
  if (before !== undefined && !isIndexed) return false;
  const base = await baseOf(node, listing, sent, signal);
  return base !== undefined && isExplainedFrom(base);
}

/**
 * Returns the balance at the end of a reading's slot. A node may read in the middle of a slot, and
 * still give that slot.
 */
async function heldAfter(
  node: AccountHistory,
  { entries }: Listing,
  { slot, amount }: Reading,
  signal: AbortSignal,
): Promise<bigint> {
  let last: bigint | undefined;
  let isMidSlot = false;
  for (const entry of entries.filter((listed) => listed.slot === slot).slice(0, READS_A_LOOK)) {
    const { amounts } = (await readEntry(node, entry, signal)) ?? {};
    // Entries come newest first, so the first entry with amounts gives the end of the slot.
    if (amounts === undefined) continue;
    last ??= amounts.after;
    isMidSlot ||= amounts.before === amount;
  }
  return isMidSlot && last !== undefined ? last : amount;
}

/**
 * Returns the sum that the transactions moved; undefined if this look cannot read enough of them.
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
      // A flood of dust only adds to the balance, so it must not keep the payment open.
      if (entries.length <= FLOOD) return undefined;
      continue;
    }
    if (!isKnown) reads += 1;
    const found = await readEntry(node, entry, signal);
    if (found === undefined) return undefined;
    if (found.amounts !== undefined) moved += found.amounts.after - found.amounts.before;
  }
  return moved;
}

/**
 * Returns the source's balance after the last transaction before the slot in which the sent
 * transaction could land.
 */
async function baseOf(
  node: AccountHistory,
  { entries, older }: Listing,
  sent: SentTransaction,
  signal: AbortSignal,
): Promise<Reading | undefined> {
  const before = [...entries, ...(older === undefined ? [] : [older])].filter(
    ({ slot }) => slot < sent.slot,
  );
  // An account without earlier transactions started at zero.
  if (before.length === 0) return { amount: 0n, slot: -1 };
  for (const entry of before.slice(0, MAX_UNREADABLE)) {
    const found = await readEntry(node, entry, signal);
    if (found?.amounts !== undefined) return { amount: found.amounts.after, slot: entry.slot };
  }
  return undefined;
}

/**
 * Returns an entry's transaction. Undefined if the node does not give it, or gives a different slot
 * than the list: either may be wrong.
 */
async function readEntry(
  node: AccountHistory,
  { signature, slot }: SignatureInfo,
  signal: AbortSignal,
): Promise<SeenTransaction | undefined> {
  const found = await node.read(signature, signal);
  if (found?.slot === undefined || found.slot === slot) return found;
  node.forget(signature);
  return undefined;
}
