import type { SignatureInfo } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { AccountHistory, LookedAt } from './account-history.js';
import { isExplained, MAX_UNREADABLE, READS_A_LOOK } from './explained-balance.js';
import type { Fate, Sent } from './fate.js';
import type { Listing } from './history-pages.js';

const OPEN: Fate = { state: 'open' };
const NEVER: Fate = { state: 'never' };

// Named by a transaction in each slot of a cluster.
const VOTE_PROGRAM: Address = 'Vote111111111111111111111111111111111111111';
/**
 * Blocks after which an index that no busy account tells of is taken to be up to date: about 15
 * minutes. None that is honest lags for so long.
 */
const INDEX_BLOCKS = 2_250n;

/**
 * Looks for a transaction at one node: by its id, if that is known, and in the history of its source.
 */
export async function searchHistory(
  node: AccountHistory,
  sent: Sent,
  signal: AbortSignal,
): Promise<Fate> {
  const byId = sent.isId ? await statusOf(node, sent, 0, signal) : undefined;
  if (byId !== undefined) return byId;
  const tip = await node.tip(signal);
  // What landed up to the tip is in what is searched.
  const asOf =
    tip.height > sent.lastValidBlockHeight
      ? await expiredAt(node, sent, tip.slot, signal)
      : undefined;
  // Before the list is asked for: after it, the index may have come there in between.
  const isIndexed =
    asOf !== undefined && (await reachesIndex(node, sent, asOf, tip.height, signal));
  const listing = await node.since(earliest(sent), asOf ?? tip.slot, signal);
  const found = sent.isId
    ? await listed(node, listing, sent, signal)
    : await search(node, listing, sent, signal);
  if (found !== undefined) return found;
  // By its id, a transaction is found without the index.
  if (asOf === undefined || (!isIndexed && !sent.isId) || !listing.isComplete) return OPEN;
  if (sent.isId) {
    const late = await statusOf(node, sent, asOf, signal);
    if (late !== undefined) return late;
  }
  const isWhole = await isExplained(node, listing, sent, { asOf, isIndexed }, signal);
  // Among what was read for that, too, may be ours: with another memo, or none, as the node tells
  // it.
  const explaining = recognised(node, listing, sent);
  if (explaining !== undefined) return explaining;
  if (!isWhole) return OPEN;
  // After the search: what a node has dropped meanwhile is no longer in it. One that cannot say may
  // show something older.
  const first = await node.rpc
    .firstSlot({ signal })
    .catch(() => (showsOlder(listing, sent.slot) ? sent.slot : Infinity));
  return first <= sent.slot ? NEVER : OPEN;
}

/**
 * A node that has not seen the blockhash yet would call it expired: it has to have seen as much as
 * the node that gave it.
 */
async function expiredAt(
  node: AccountHistory,
  { blockhash, blockhashSlot }: Sent,
  tip: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  return tip < blockhashSlot ? undefined : node.expiredAsOf(blockhash, tip, signal);
}

/** Whether the node's index of addresses has come to a slot. */
async function reachesIndex(
  node: AccountHistory,
  sent: Sent,
  slot: number,
  height: bigint,
  signal: AbortSignal,
): Promise<boolean> {
  const { mint, lastValidBlockHeight: last } = sent;
  if (last >= 0n && height > last + INDEX_BLOCKS) return true;
  const busy = [...(mint === undefined ? [] : [mint]), VOTE_PROGRAM];
  return (await node.reach(busy, slot, signal)) >= slot;
}

function showsOlder({ entries, older }: Listing, than: number): boolean {
  return older !== undefined || entries.some(({ slot }) => slot < than);
}

function earliest({ slot, before }: Sent): number {
  return before === undefined ? slot : Math.min(slot, before.slot);
}

/** By its id, as far back as the node remembers; `open` while it is not confirmed. */
async function statusOf(
  node: AccountHistory,
  sent: Sent,
  minContextSlot: number,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const { signature } = sent;
  const [status = null] = await node.rpc.statuses([signature], {
    history: true,
    minContextSlot,
    signal,
  });
  if (status === null) return undefined;
  return status.commitment === 'processed'
    ? OPEN
    : landedAs(node, { signature, ...status }, signal);
}

/** The index may know of it before the statuses do. */
async function listed(
  node: AccountHistory,
  { entries }: Listing,
  { signature }: Sent,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const entry = entries.find((one) => one.signature === signature);
  return entry === undefined ? undefined : landedAs(node, entry, signal);
}

/**
 * A failure is believed only if the transaction itself says it; what it says of itself is more than
 * what others do.
 */
async function landedAs(
  node: AccountHistory,
  { signature, slot, error }: Pick<SignatureInfo, 'signature' | 'slot' | 'error'>,
  signal: AbortSignal,
): Promise<Fate> {
  if (error === null) return { state: 'landed', signature, slot, error };
  return judge(node, await node.read(signature, signal), { signature, slot }, signature) ?? OPEN;
}

/**
 * @param entry - What a node tells now. A failure that was read before, in another slot, may have
 *   been on a fork that was dropped.
 */
function judge(
  node: AccountHistory,
  found: LookedAt | undefined,
  entry: { readonly signature: string; readonly slot: number | undefined },
  ours: string,
): Fate | undefined {
  if (found?.slot === undefined || !found.signatures.includes(ours)) return undefined;
  if (found.error === null)
    return { state: 'landed', signature: entry.signature, slot: found.slot, error: null };
  if (found.slot === entry.slot) return failedAs(node, found, entry.signature);
  node.forget(entry.signature);
  return OPEN;
}

/** One that failed moved no tokens: an error beside amounts that changed says nothing. */
function failedAs(
  { source }: AccountHistory,
  { slot, error, amounts }: LookedAt,
  signature: string,
): Fate {
  const hasMoved = amounts !== undefined && amounts.before !== amounts.after;
  if (slot === undefined || (hasMoved && source.unit === 'tokens')) return OPEN;
  return { state: 'landed', signature, slot, error };
}

/** Ours among all that was read of a list. */
function recognised(
  node: AccountHistory,
  { entries, older }: Listing,
  sent: Sent,
): Fate | undefined {
  for (const entry of [...entries, ...(older === undefined ? [] : [older])]) {
    const fate = judge(node, node.known(entry.signature), entry, sent.signature);
    if (fate !== undefined) return fate;
  }
  return undefined;
}

/**
 * Looks for the transaction among those of its source. Undefined if it is not there, `open` if that
 * cannot be told yet.
 */
async function search(
  node: AccountHistory,
  { entries }: Listing,
  sent: Sent,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const tellsMemos = entries.some(({ memo }) => typeof memo === 'string' && memo !== '');
  // All that is listed, not what came after its slot alone: what a node says of a slot may be
  // wrong.
  const candidates = entries.filter((entry) => mayBe(entry, sent, tellsMemos));
  let reads = 0;
  let unreadable = 0;
  for (const entry of candidates) {
    const { signature } = entry;
    if (node.known(signature) === undefined && (reads += 1) > READS_A_LOOK) return OPEN;
    const found = await node.read(signature, signal);
    const fate = judge(node, found, entry, sent.signature);
    if (fate !== undefined) return fate;
    if (found === undefined && (unreadable += 1) >= MAX_UNREADABLE) return OPEN;
  }
  return unreadable === 0 ? undefined : OPEN;
}

/**
 * A memo that the node does not tell, or an empty one, excludes nothing; unless the node tells
 * those of others.
 */
function mayBe({ memo }: SignatureInfo, sent: Sent, tellsMemos: boolean): boolean {
  if (sent.memo === undefined) return true;
  return typeof memo === 'string' && memo !== '' ? memo.includes(sent.memo) : !tellsMemos;
}
