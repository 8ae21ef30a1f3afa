import type { Rpc, SignatureInfo } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';

/** The transactions of an account from a slot on, as one node lists them. */
export interface Listing {
  /** Newest first. */
  readonly entries: readonly SignatureInfo[];
  /** The newest entry that is older; undefined if the node lists none. */
  readonly older: SignatureInfo | undefined;
  /** Whether all of it is here: an account may have more than is looked through. */
  readonly isComplete: boolean;
}

/**
 * The list of an account's transactions, asked for page by page, and no further back than is
 * needed.
 */
export interface Pages {
  since(slot: number): Promise<Listing>;
}

// The most that nodes give in one answer.
const PAGE = 1_000;
// Many more than a token account sees in the life of a blockhash; also what came since, if it was
// not looked at for long.
const MAX_PAGES = 100;

export function createPages(
  rpc: Pick<Rpc, 'signaturesFor'>,
  account: Address,
  minContextSlot: number,
): Pages {
  const entries: SignatureInfo[] = [];
  let pages = 0;
  let isWhole = false;
  let last: Promise<unknown> = Promise.resolve();
  const reaches = (slot: number) =>
    isWhole || (entries[entries.length - 1]?.slot ?? Infinity) < slot;

  const load = async (slot: number): Promise<Listing> => {
    while (!reaches(slot) && pages < MAX_PAGES) {
      const before = entries[entries.length - 1]?.signature;
      const page = await rpc.signaturesFor(account, { limit: PAGE, before, minContextSlot });
      pages += 1;
      entries.push(...page);
      // A page that is not full may still not be the last: some nodes give fewer.
      isWhole = page.length === 0;
    }
    // After the last of them: one entry with a wrong slot would cut off what stands behind it.
    const end = entries.reduce((last, entry, index) => (entry.slot >= slot ? index + 1 : last), 0);
    return { entries: entries.slice(0, end), older: entries[end], isComplete: reaches(slot) };
  };

  return {
    since(slot) {
      // One page after the other, whichever call asks.
      const listing = last.then(() => load(slot));
      last = listing.catch(() => undefined);
      return listing;
    },
  };
}

/**
 * The newest slot that a node's index of addresses shows of accounts that many transactions name;
 * -1 if it shows nothing of them.
 */
export async function newestIndexed(
  rpc: Pick<Rpc, 'signaturesFor'>,
  busy: readonly Address[],
  enough: number,
): Promise<number> {
  let newest = -1;
  for (const address of busy) {
    // Some nodes list none of what is as busy as that.
    const [entry] = await rpc.signaturesFor(address, { limit: 1 }).catch(() => []);
    newest = Math.max(newest, entry?.slot ?? -1);
    if (newest >= enough) break;
  }
  return newest;
}
