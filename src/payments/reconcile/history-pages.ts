import type { Rpc, SignatureInfo } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';

/** The transactions of an account from a given slot on, as one node lists them. */
export interface Listing {
  /** Newest first. */
  readonly entries: readonly SignatureInfo[];
  /** The newest entry before the given slot; undefined if the node lists none. */
  readonly older: SignatureInfo | undefined;
  /** Whether the listing reaches back to the given slot: an account may exceed `MAX_PAGES`. */
  readonly isComplete: boolean;
}

/** Lists the transactions in a slot or later. */
export type Pages = (slot: number) => Promise<Listing>;

// The most entries that nodes give in one answer.
const PAGE = 1_000;
// A token account fills far fewer while a blockhash lives, so a late look has enough too.
const MAX_PAGES = 100;

export function createPages(
  rpc: Pick<Rpc, 'signaturesFor'>,
  account: Address,
  minContextSlot: number,
): Pages {
  const entries: SignatureInfo[] = [];
  let pages = 0;
  let hasEnded = false;
  let last: Promise<unknown> = Promise.resolve();
  const reaches = (slot: number) =>
    hasEnded || (entries[entries.length - 1]?.slot ?? Infinity) < slot;

  const load = async (slot: number): Promise<Listing> => {
    while (!reaches(slot) && pages < MAX_PAGES) {
      const before = entries[entries.length - 1]?.signature;
      const page = await rpc.signaturesFor(account, { limit: PAGE, before, minContextSlot });
      pages += 1;
      entries.push(...page);
      // Only an empty page is the end, because some nodes give fewer entries than the limit.
      hasEnded = page.length === 0;
    }
    // Cut after the last match, because an entry with a wrong slot must not hide later matches.
    const end = entries.reduce((last, entry, index) => (entry.slot >= slot ? index + 1 : last), 0);
    return { entries: entries.slice(0, end), older: entries[end], isComplete: reaches(slot) };
  };

  return (slot) => {
    // Load pages one after the other, because all calls share the list.
    const listing = last.then(() => load(slot));
    last = listing.catch(() => undefined);
    return listing;
  };
}

/**
 * Returns the newest slot that a node's address index shows for busy accounts; -1 if it shows none.
 *
 * @param enough - A slot that is new enough to stop at.
 */
export async function newestIndexed(
  rpc: Pick<Rpc, 'signaturesFor'>,
  busy: readonly Address[],
  enough: number,
): Promise<number> {
  let newest = -1;
  for (const address of busy) {
    // Some nodes refuse to list an account that is this busy.
    const [entry] = await rpc.signaturesFor(address, { limit: 1 }).catch(() => []);
    newest = Math.max(newest, entry?.slot ?? -1);
    if (newest >= enough) break;
  }
  return newest;
}
