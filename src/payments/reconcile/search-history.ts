import type { SignatureInfo } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { AccountHistory, SeenTransaction } from './account-history.js';
import { isExplained, MAX_UNREADABLE, READS_A_LOOK } from './explained-balance.js';
import { NEVER, OPEN, type Fate, type SentTransaction } from './fate.js';
import type { Listing } from './history-pages.js';

// Transactions in each slot of a cluster name this program, so its index entry shows the lag.
const VOTE_PROGRAM: Address = 'Vote111111111111111111111111111111111111111';
/**
 * Blocks after the last valid block of a transaction, about 15 minutes. After them the address
 * index counts as up to date without proof, because no honest index lags for so long.
 */
const INDEX_BLOCKS = 2_250n;

export async function searchHistory(
  node: AccountHistory,
  sent: SentTransaction,
  signal: AbortSignal,
): Promise<Fate> {
  const byId = sent.isId ? await statusOf(node, sent, 0, signal) : undefined;
  if (byId !== undefined) return byId;
  const tip = await node.tip(signal);
  // The list below is as of the tip at least, so it has every transaction that landed up to there.
  const asOf =
    tip.height > sent.lastValidBlockHeight
      ? await expiredAt(node, sent, tip.slot, signal)
      : undefined;
  // Ask before the list is requested: asked afterwards, the index may have advanced since the list.
  const isIndexed =
    asOf !== undefined && (await reachesIndex(node, sent, asOf, tip.height, signal));
  const listing = await node.since(earliest(sent), asOf ?? tip.slot, signal);
  const found = sent.isId
    ? await listed(node, listing, sent, signal)
    : await search(node, listing, sent, signal);
  if (found !== undefined) return found;
  // A transaction with a known id is found without the index.
  if (asOf === undefined || (!isIndexed && !sent.isId) || !listing.isComplete) return OPEN;
  if (sent.isId) {
    const byIdNow = await statusOf(node, sent, asOf, signal);
    if (byIdNow !== undefined) return byIdNow;
  }
  const isBalanceExplained = await isExplained(node, listing, sent, { asOf, isIndexed }, signal);
  // The balance check reads more entries. The sent transaction may be among them if the node lists
  // it with a wrong memo or none.
  const inReadEntries = recognised(node, listing, sent);
  if (inReadEntries !== undefined) return inReadEntries;
  if (!isBalanceExplained) return OPEN;
  // Ask after the search, because a node may drop old slots during it. If a node does not give its
  // first slot, an older entry shows that it has the slots from there on.
  const first = await node.rpc
    .firstSlot({ signal })
    .catch(() => (showsOlder(listing, sent.slot) ? sent.slot : Infinity));
  return first <= sent.slot ? NEVER : OPEN;
}

/**
 * Returns a slot at which the blockhash is expired. Undefined if the node is behind the node that
 * gave the blockhash: it may not have seen the blockhash yet, and would call it expired.
 */
async function expiredAt(
  node: AccountHistory,
  { blockhash, blockhashSlot }: SentTransaction,
  tip: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  return tip < blockhashSlot ? undefined : node.expiredAsOf(blockhash, tip, signal);
}

async function reachesIndex(
  node: AccountHistory,
  sent: SentTransaction,
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

function earliest({ slot, before }: SentTransaction): number {
  return before === undefined ? slot : Math.min(slot, before.slot);
}

/**
 * Asks for a transaction's status by its id, as far back as the node remembers. Returns `open` if
 * the transaction is not confirmed yet, and undefined if the node does not know it.
 */
async function statusOf(
  node: AccountHistory,
  sent: SentTransaction,
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

/** Looks for the id in the list: the index may have a transaction before the statuses do. */
async function listed(
  node: AccountHistory,
  { entries }: Listing,
  { signature }: SentTransaction,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const entry = entries.find((candidate) => candidate.signature === signature);
  return entry === undefined ? undefined : landedAs(node, entry, signal);
}

/**
 * Returns the fate of a transaction that a status or a list shows. Reads the transaction itself
 * before it believes a failure, because the transaction proves more.
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
 * Returns the fate of a transaction that was read; undefined if it is not ours.
 *
 * @param entry - The transaction as the node lists it now. If it was read earlier as a failure in a
 *   different slot, that slot may be on a dropped fork.
 */
function judge(
  node: AccountHistory,
  found: SeenTransaction | undefined,
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

/** Returns a landed failure; `open` if tokens moved, because a failed transaction moves none. */
function failedAs(
  { source }: AccountHistory,
  { slot, error, amounts }: SeenTransaction,
  signature: string,
): Fate {
  const hasMoved = amounts !== undefined && amounts.before !== amounts.after;
  if (slot === undefined || (hasMoved && source.unit === 'tokens')) return OPEN;
  return { state: 'landed', signature, slot, error };
}

/** Looks for our signature in the entries of a list that were read already. */
function recognised(
  node: AccountHistory,
  { entries, older }: Listing,
  sent: SentTransaction,
): Fate | undefined {
  for (const entry of [...entries, ...(older === undefined ? [] : [older])]) {
    const fate = judge(node, node.known(entry.signature), entry, sent.signature);
    if (fate !== undefined) return fate;
  }
  return undefined;
}

/** Returns undefined if the list lacks the transaction, and `open` if this look cannot tell. */
async function search(
  node: AccountHistory,
  { entries }: Listing,
  sent: SentTransaction,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const tellsMemos = entries.some(({ memo }) => typeof memo === 'string' && memo !== '');
  // Do not filter by slot, because a node may give a wrong slot.
  const candidates = entries.filter((entry) => mayBeSent(entry, sent, tellsMemos));
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
 * Returns whether an entry may be the sent transaction, by its memo. A missing or empty memo
 * excludes an entry only if the node gives the memos of other entries.
 */
function mayBeSent({ memo }: SignatureInfo, sent: SentTransaction, tellsMemos: boolean): boolean {
  if (sent.memo === undefined) return true;
  return typeof memo === 'string' && memo !== '' ? memo.includes(sent.memo) : !tellsMemos;
}
