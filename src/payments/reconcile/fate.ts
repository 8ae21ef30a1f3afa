import type { SignatureInfo } from '../../solana/rpc/rpc.js';
import type { Landing } from '../../solana/transactions/confirm.js';
import type { Address } from '../../solana/types.js';
import type { AccountHistory, Histories, LookedAt } from './account-history.js';
import { isExplained, MAX_UNREADABLE, READS_A_LOOK } from './explained-balance.js';
import type { Listing } from './history-pages.js';
import type { Sent } from './sent-transaction.js';

/** What the chain says about a transaction that this wallet signed. */
export type Fate =
  /**
   * It landed; `error` is null if it went well. A landed failure can never succeed: the chain takes
   * the same message once.
   */
  | {
      readonly state: 'landed';
      readonly signature: string;
      readonly slot: number;
      readonly error: string | null;
    }
  /** It did not land and never will. */
  | { readonly state: 'never' }
  | { readonly state: 'open' };

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
 * Asks the chain once what became of a transaction. Our own signature in a landed transaction is
 * proof that it landed, and so is the fee payer's over our message, which is its id. That it failed
 * is told by two nodes, if there are two, each with a transaction that moved nothing, in a final
 * block. That it never will land takes two witnesses,
 * which no index can delay together, from two nodes if there are two:
 * - the search: at a final slot past the life of the blockhash, as the node itself judges that, the
 *   source's whole history has no such transaction, and
 *   the index of addresses that gives that history has come as far;
 * - the balance of the source at such a slot lacks nothing that its history does not explain.
 */
export async function fateOf(histories: Histories, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const failures: unknown[] = [];
  const nodes = histories.of(sent.source);
  const inVain: Fate[] = [];
  for (const node of nodes) {
    try {
      const fate = await askNode(node, sent, signal);
      if (fate.state === 'landed' && fate.error === null) return fate;
      if (fate.state !== 'open') inVain.push(fate);
      // One that failed has cost its fee.
      if (inVain.length >= Math.min(2, nodes.length))
        return inVain.find(({ state }) => state === 'landed') ?? NEVER;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return OPEN;
}

async function askNode(node: AccountHistory, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const fate = await lookFor(node, sent, signal);
  if (fate.state !== 'landed' || fate.error === null || fate.slot <= (await node.tip(signal)).slot)
    return fate;
  // On a fork that is dropped it has not failed: the same bytes may land anew, and go well.
  return OPEN;
}

async function lookFor(node: AccountHistory, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const byId = sent.isId
    ? await statusOf(node, sent, 0, signal)
    : await claimed(node, sent, signal);
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

/** The node is asked in vain at worst: it must not keep the search from being made. */
async function claimed(
  node: AccountHistory,
  { claim }: Sent,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  if (claim === undefined) return undefined;
  const status = await node.statusOf(claim, signal).catch(() => null);
  if (signal.aborted) throw signal.reason;
  // That it failed is for the list to say, which tells the slot of now.
  if (status === null || status.error !== null || status.commitment === 'processed')
    return undefined;
  return { state: 'landed', signature: claim, slot: status.slot, error: null };
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

/** A fate as what became of a transaction of ours that is being sent. */
export function landingOf(fate: Fate): Landing {
  if (fate.state === 'open') return { outcome: 'unknown' };
  if (fate.state === 'never') return { outcome: 'expired' };
  const { slot, error, signature } = fate;
  return error === null
    ? { outcome: 'confirmed', slot, signature }
    : { outcome: 'failed', error, slot, signature };
}
