import { untilAborted } from '../../internal/abort.js';
import type { Runtime } from '../../internal/runtime.js';
import type { Reading } from '../../journal/account-balance.js';
import type { Account, LandedTransaction, Rpc, Tip } from '../../solana/rpc/rpc.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { createPages, newestIndexed, type Listing, type Pages } from './history-pages.js';

/**
 * An account of the wallet, by what of it transactions take: base units of a token account, or
 * lamports.
 */
export interface Source {
  readonly account: Address;
  readonly unit: 'tokens' | 'lamports';
}

/** What a node gave of one transaction. */
export interface LookedAt {
  /** Null if it went well. */
  readonly error: string | null;
  /** Undefined for a version above 0. */
  readonly slot: number | undefined;
  /** All signatures, fee payer's first. Empty for a version above 0, which is never ours. */
  readonly signatures: readonly string[];
  /** What the source held before and after; undefined if the node does not tell. */
  readonly amounts: { readonly before: bigint; readonly after: bigint } | undefined;
}

/**
 * One source as one node shows it. Answers are kept for a slot, so that all open payments of the
 * source share each question.
 */
export interface AccountHistory {
  readonly rpc: Rpc;
  readonly source: Source;
  /** The newest final block. */
  tip(signal: AbortSignal): Promise<Tip>;
  /**
   * The slot as of which no further block can include this blockhash, and all before is final;
   * undefined while that may change.
   */
  expiredAsOf(
    blockhash: string,
    minContextSlot: number,
    signal: AbortSignal,
  ): Promise<number | undefined>;
  /**
   * The newest slot that the node's index of addresses shows of busy accounts. What is listed from
   * then on is listed after that.
   */
  reach(busy: readonly Address[], enough: number, signal: AbortSignal): Promise<number>;
  /** What landed in `slot` or later, as of `minContextSlot` or later. */
  since(slot: number, minContextSlot: number, signal: AbortSignal): Promise<Listing>;
  /**
   * A transaction by its id; undefined if the node does not give it. Rejects only with the signal's
   * reason.
   */
  read(id: string, signal: AbortSignal): Promise<LookedAt | undefined>;
  /** As {@link AccountHistory.read} gave it before. */
  known(id: string): LookedAt | undefined;
  /** What it gave was wrong, or may have been: the next look asks anew. */
  forget(id: string): void;
  /** What the source holds at `finalized`, as of `minContextSlot` or later. */
  balance(minContextSlot: number, signal: AbortSignal): Promise<Reading>;
}

/** About a slot, in milliseconds. */
const SLOT_MS = 400;
const MAX_SOURCES = 64;
const MAX_KNOWN = 10_000;

/** As it is kept between looks. */
export interface KeptHistory extends AccountHistory {
  outdate(): void;
}

interface Asked {
  readonly rpc: Rpc;
  readonly source: Source;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** That of a source among all that are kept of one node. */
export function historyOf(
  known: Map<string, KeptHistory>,
  name: string,
  asked: Asked,
): AccountHistory {
  const history = known.get(name) ?? createHistory(asked);
  // What was asked for last is forgotten last.
  known.delete(name);
  return keep(known, name, history, MAX_SOURCES);
}

function createHistory({ rpc, source, runtime }: Asked): KeptHistory {
  const { account } = source;
  const looked = new Map<string, LookedAt>();
  const expired = new Map<string, number>();
  const tips = keptForASlot<Tip>(runtime);
  const balances = keptForASlot<Reading>(runtime);
  const listings = keptForASlot<Pages>(runtime);
  const reaches = keptForASlot<number>(runtime);
  const reading = new Map<string, Promise<LookedAt | undefined>>();
  const readNow = async (id: string) => {
    const found = await rpc.transaction(id).catch(() => null);
    reading.delete(id);
    // An answer to another question would hide the transaction from every later look.
    if (found === null || (found !== 'newer' && found.signatures[0] !== id)) return undefined;
    return keep(looked, id, lookedAt(found, source), MAX_KNOWN);
  };
  return {
    rpc,
    source,
    tip: (signal) => tips.get(0, signal, () => rpc.tip('finalized')),
    async expiredAsOf(blockhash, minContextSlot, signal) {
      const known = expired.get(blockhash);
      if (known !== undefined) return known;
      const { valid, slot } = await rpc.isBlockhashValid(blockhash, {
        commitment: 'finalized',
        minContextSlot,
        signal,
      });
      return valid ? undefined : keep(expired, blockhash, slot, MAX_KNOWN);
    },
    reach: (busy, enough, signal) =>
      reaches.get(enough, signal, async () => {
        const newest = await newestIndexed(rpc, busy, enough);
        // A list of before may be older than this.
        listings.outdate();
        return newest;
      }),
    async since(slot, minContextSlot, signal) {
      const pages = await listings.get(minContextSlot, signal, async () =>
        createPages(rpc, account, minContextSlot),
      );
      return untilAborted(pages.since(slot), signal);
    },
    async read(id, signal) {
      const known = looked.get(id);
      if (known !== undefined) return known;
      // Payments in flight together all read each other's transactions at the same moment.
      const read = reading.get(id) ?? readNow(id);
      reading.set(id, read);
      return untilAborted(read, signal);
    },
    known: (id) => looked.get(id),
    forget: (id) => void looked.delete(id),
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

/** What an account holds of what its source counts. */
export function amountIn(account: Account | null, { unit }: Pick<Source, 'unit'>): bigint {
  if (account === null) return 0n;
  return unit === 'lamports' ? account.lamports : (decodeTokenAccount(account)?.amount ?? 0n);
}

function lookedAt(found: LandedTransaction | 'newer', { account, unit }: Source): LookedAt {
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

/** An account that is yet to be made, or is closed, holds nothing. */
function tokensOf(
  { tokenChanges, tellsTokens }: LandedTransaction,
  account: Address,
): LookedAt['amounts'] {
  return (
    tokenChanges.find((one) => one.account === account) ??
    (tellsTokens ? { before: 0n, after: 0n } : undefined)
  );
}

/**
 * Asks at most once a slot; each caller waits for as long as its own signal lets it. What fails is
 * asked again.
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

function keep<K, V>(map: Map<K, V>, key: K, value: V, most: number): V {
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
  return value;
}
