import { untilAborted } from '../../internal/abort.js';
import { setNewest } from '../../internal/newest.js';
import type { Runtime } from '../../internal/runtime.js';
import type { Reading } from '../../journal/account-balance.js';
import type { Account, LandedTransaction, Rpc, Tip } from '../../solana/rpc/rpc.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { createPages, newestIndexed, type Listing, type Pages } from './history-pages.js';

/** An account of the wallet that transactions take from. */
export interface Source {
  readonly account: Address;
  /** Takes base units of a token account, or lamports. */
  readonly unit: 'tokens' | 'lamports';
}

/** One transaction of the source, as a node gave it. */
export interface SeenTransaction {
  /** Null if the transaction succeeded. */
  readonly error: string | null;
  /** Undefined for a version above 0. */
  readonly slot: number | undefined;
  /** Fee payer's signature first. Empty for a version above 0, which the wallet never signs. */
  readonly signatures: readonly string[];
  /** Balance of the source before and after; undefined if the node does not give it. */
  readonly amounts: { readonly before: bigint; readonly after: bigint } | undefined;
}

/**
 * The history of one source at one node. Caches each answer for a slot, so that all open payments
 * of the source share it.
 */
export interface AccountHistory {
  readonly rpc: Rpc;
  readonly source: Source;
  tip(signal: AbortSignal): Promise<Tip>;
  /**
   * Returns a final slot as of which the blockhash is expired: no later block can include it.
   * Undefined while the blockhash may still be valid.
   */
  expiredAsOf(
    blockhash: string,
    minContextSlot: number,
    signal: AbortSignal,
  ): Promise<number | undefined>;
  /**
   * Returns the newest slot that the node's address index shows for busy accounts. Lists that are
   * requested after this call are at least as new.
   */
  reach(busy: readonly Address[], enough: number, signal: AbortSignal): Promise<number>;
  /** Lists the transactions in `slot` or later, as of `minContextSlot` or later. */
  since(slot: number, minContextSlot: number, signal: AbortSignal): Promise<Listing>;
  /**
   * Returns a transaction by its id; undefined if the node does not give it. Rejects only with the
   * signal's reason.
   */
  read(id: string, signal: AbortSignal): Promise<SeenTransaction | undefined>;
  /** Returns a transaction that {@link AccountHistory.read} gave before. */
  known(id: string): SeenTransaction | undefined;
  /** Drops a transaction that the node may have given wrongly: the next look reads it again. */
  forget(id: string): void;
  /** Returns the source's balance at `finalized`, as of `minContextSlot` or later. */
  balance(minContextSlot: number, signal: AbortSignal): Promise<Reading>;
}

/** About one slot, in milliseconds. */
const SLOT_MS = 400;
const MAX_SOURCES = 64;
const MAX_KNOWN = 10_000;

export interface KeptHistory extends AccountHistory {
  /** Drops the cached answers, so that the next look asks the node. */
  outdate(): void;
}

interface HistoryOptions {
  readonly rpc: Rpc;
  readonly source: Source;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** Returns the kept history of a source at one node, or creates it. */
export function historyOf(
  histories: Map<string, KeptHistory>,
  name: string,
  options: HistoryOptions,
): AccountHistory {
  const history = histories.get(name) ?? createHistory(options);
  // Insert the history again, so that the least recently used history is evicted first.
  return setNewest(histories, name, history, MAX_SOURCES);
}

function createHistory({ rpc, source, runtime }: HistoryOptions): KeptHistory {
  const { account } = source;
  const transactions = new Map<string, SeenTransaction>();
  const expirySlots = new Map<string, number>();
  const tips = keptForASlot<Tip>(runtime);
  const balances = keptForASlot<Reading>(runtime);
  const listings = keptForASlot<Pages>(runtime);
  const reaches = keptForASlot<number>(runtime);
  const pendingReads = new Map<string, Promise<SeenTransaction | undefined>>();
  const readNow = async (id: string) => {
    const found = await rpc.transaction(id).catch(() => null);
    pendingReads.delete(id);
    // Reject an answer with another id: once cached, it would hide the transaction for good.
    if (found === null || (found !== 'newer' && found.signatures[0] !== id)) return undefined;
    return setNewest(transactions, id, lookedAt(found, source), MAX_KNOWN);
  };
  return {
    rpc,
    source,
    tip: (signal) => tips.get(0, signal, () => rpc.tip('finalized')),
    async expiredAsOf(blockhash, minContextSlot, signal) {
      const known = expirySlots.get(blockhash);
      if (known !== undefined) return known;
      const { valid, slot } = await rpc.isBlockhashValid(blockhash, {
        commitment: 'finalized',
        minContextSlot,
        signal,
      });
      return valid ? undefined : setNewest(expirySlots, blockhash, slot, MAX_KNOWN);
    },
    reach: (busy, enough, signal) =>
      reaches.get(enough, signal, async () => {
        const newest = await newestIndexed(rpc, busy, enough);
        // A cached list may be older than this slot.
        listings.outdate();
        return newest;
      }),
    async since(slot, minContextSlot, signal) {
      const pages = await listings.get(minContextSlot, signal, async () =>
        createPages(rpc, account, minContextSlot),
      );
      return untilAborted(pages(slot), signal);
    },
    async read(id, signal) {
      const known = transactions.get(id);
      if (known !== undefined) return known;
      // Payments in flight read each other's transactions at the same moment, so they share a read.
      const read = pendingReads.get(id) ?? readNow(id);
      pendingReads.set(id, read);
      return untilAborted(read, signal);
    },
    known: (id) => transactions.get(id),
    forget: (id) => void transactions.delete(id),
    balance: (minContextSlot, signal) =>
      balances.get(minContextSlot, signal, async () => {
        const { slot, accounts } = await rpc.accounts([account], {
          commitment: 'finalized',
          minContextSlot,
        });
        return { slot, amount: amountIn(accounts[0] ?? null, source) };
      }),
    outdate() {
      for (const kept of [tips, balances, listings, reaches]) kept.outdate();
    },
  };
}

export function amountIn(account: Account | null, { unit }: Pick<Source, 'unit'>): bigint {
  if (account === null) return 0n;
  return unit === 'lamports' ? account.lamports : (decodeTokenAccount(account)?.amount ?? 0n);
}

function lookedAt(found: LandedTransaction | 'newer', { account, unit }: Source): SeenTransaction {
  if (found === 'newer')
    return { error: null, slot: undefined, signatures: [], amounts: undefined };
  const { error, slot, signatures, lamports } = found;
  return {
    error,
    slot,
    signatures,
    amounts: unit === 'lamports' ? lamports.get(account) : tokensOf(found, account),
  };
}

/** Returns the token balance before and after; zero if the account does not exist or is closed. */
function tokensOf(
  { tokenChanges, tellsTokens }: LandedTransaction,
  account: Address,
): SeenTransaction['amounts'] {
  return (
    tokenChanges.find((change) => change.account === account) ??
    (tellsTokens ? { before: 0n, after: 0n } : undefined)
  );
}

/**
 * Caches an answer for one slot. Each caller waits until its own signal aborts. A failed answer is
 * not cached.
 */
function keptForASlot<T>({ now }: Pick<Runtime, 'now'>) {
  let kept:
    | { readonly at: number; readonly minContextSlot: number; readonly answer: Promise<T> }
    | undefined;
  return {
    get(minContextSlot: number, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
      const at = now();
      const isYoung =
        kept !== undefined &&
        at >= kept.at &&
        at - kept.at < SLOT_MS &&
        kept.minContextSlot >= minContextSlot;
      if (kept === undefined || !isYoung) {
        const next = { at, minContextSlot, answer: ask() };
        kept = next;
        next.answer.catch(() => {
          if (kept === next) kept = undefined;
        });
      }
      return untilAborted(kept.answer, signal);
    },
    outdate() {
      kept = undefined;
    },
  };
}
