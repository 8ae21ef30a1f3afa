import { formatUiAmount, type Attempt, type AttemptFilter, type Receipt } from 'exact-change';
import { spendingBy, spendOf, sumOf, type Group, type Spend, type Spending } from '../spending.js';
import { openRow, receiptRow, swapRow } from './rows.js';
import type { OpenRow, Overview, ReceiptPage, ReceiptRow, SwapRow } from './shown.js';

/** A filter of receipts. A receipt must match every given field. */
export interface ReceiptQuery {
  readonly wallet?: string | undefined;
  readonly state?: string | undefined;
  /** A part of the URL, the payee, the transaction or the id, in any case. */
  readonly text?: string | undefined;
  /** How many of the newest receipts to skip. */
  readonly from: number;
}

/** The sums of an overview, of one wallet or of all. */
export type Sums = Omit<Overview, 'wallets' | 'wallet' | 'caps' | 'endpoints' | 'deliveries'>;

/** The content of a journal in memory, for pages. After the first read, it reads only changes. */
export interface JournalView {
  /** Reads the attempts that may have changed since the last read. */
  refresh(): Promise<void>;
  wallets(): readonly string[];
  receipts(query: ReceiptQuery): ReceiptPage;
  sums(wallet?: string): Sums;
}

/** The attempts of all wallets, as a journal in a file returns them. */
export interface Attempts {
  attempts(owner: undefined, filter?: AttemptFilter): AsyncIterable<Attempt>;
}

/** A receipt with the fields that queries need. The row is JSON: a third of an object's memory. */
interface Kept {
  readonly wallet: string;
  readonly state: Receipt['state'];
  /** Text to search in, in lower case. */
  readonly words: string;
  readonly spend: Spend | undefined;
  /** JSON of a `ReceiptRow`. */
  readonly row: string;
}

interface Swap {
  readonly wallet: string;
  readonly microUsd: bigint;
  readonly row: SwapRow;
}

interface Open {
  readonly wallet: string;
  readonly at: number;
  readonly row: OpenRow | undefined;
}

export const PAGE_SIZE = 50;
/** The most receipts in memory, as a person pages no further. The journal keeps older receipts. */
const MOST_KEPT = 100_000;
const MOST_SHOWN = 100;
const MOST_DAYS = 30;
const DAY_MS = 86_400_000;
/** Milliseconds to read before the last read, because an attempt is written after its time. */
const SLACK_MS = 10_000;
const USD_DECIMALS = 6;

/**
 * @param stamp - Returns text that changes with each write of the journal, such as its file size.
 * @param now - Milliseconds since the epoch.
 */
export function createJournalView(
  journal: Attempts,
  stamp: () => Promise<string>,
  now: () => number,
): JournalView {
  const receipts = new Map<string, Kept>();
  const swaps = new Map<string, Swap>();
  const wallets = new Set<string>();
  /** Attempts that may still change. */
  let open = new Map<string, Open>();
  let newest = -Infinity;
  /** When the last read began. */
  let readAt = Infinity;
  let seen: string | undefined;
  let reading = Promise.resolve();

  const take = (attempt: Attempt): void => {
    const { id, at, wallet, receipt, swapped } = attempt;
    wallets.add(wallet);
    newest = Math.max(newest, at);
    // What is read again comes last, as in the journal: a trim drops what is first.
    receipts.delete(id);
    if (receipt !== undefined) receipts.set(id, keptOf(wallet, receipt));
    const swap = swapRow(attempt);
    const microUsd = BigInt(swapped?.lossMicroUsd ?? '0');
    swaps.delete(id);
    if (swap !== undefined) swaps.set(id, { wallet, microUsd, row: swap });
  };
  const read = async (): Promise<void> => {
    const current = await stamp();
    if (current === seen) return;
    const begunAt = now();
    // If the clock was set back, attempts since then may be older than any time that was seen.
    const from = begunAt < readAt ? -Infinity : Math.min(newest, readAt) - SLACK_MS;
    const since = Math.min(from, ...[...open.values()].map(({ at }) => at));
    const found = new Map<string, Open>();
    for await (const attempt of journal.attempts(undefined, { since })) {
      take(attempt);
      const { id, at, wallet } = attempt;
      const row = openRow(attempt);
      const isOpen = row !== undefined || (attempt.swap && attempt.swap.outcome === undefined);
      if (isOpen) found.set(id, { wallet, at, row });
    }
    open = found;
    trim(receipts);
    trim(swaps);
    seen = current;
    readAt = begunAt;
  };
  const of = <T extends { readonly wallet: string }>(items: Iterable<T>, wallet?: string): T[] =>
    [...items].filter((item) => wallet === undefined || item.wallet === wallet);

  return {
    // Read again after a running read, because that may have begun before the last write.
    refresh: () => (reading = reading.catch(() => undefined).then(read)),
    wallets: () => [...wallets],
    receipts({ wallet, state, text = '', from }) {
      const words = text.trim().toLowerCase();
      const found = of(receipts.values(), wallet).filter(
        (kept) => (state === undefined || kept.state === state) && kept.words.includes(words),
      );
      const rows = found.reverse().slice(from, from + PAGE_SIZE);
      // `keptOf` wrote this JSON.
      return {
        rows: rows.map(({ row }) => JSON.parse(row) as ReceiptRow),
        ...{ total: found.length, from },
      };
    },
    sums(wallet) {
      const ofReceipts = of(receipts.values(), wallet);
      const spends = ofReceipts.flatMap(({ spend }) => spend ?? []);
      const by = (group: Group) => spendingBy(group, spends);
      const days = lastDays(by('day'), now());
      const ofSwaps = of(swaps.values(), wallet);
      const ofOpen = of(open.values(), wallet).flatMap(({ row }) => row ?? []);
      const rows = ofSwaps.slice(-MOST_SHOWN).map(({ row }) => row);
      return {
        ...{ receipts: ofReceipts.length, days, inDays: sumOf('days', days) },
        ...{ hosts: topOf(by('host')), tokens: topOf(by('token')) },
        ...{ open: ofOpen.slice(-MOST_SHOWN).reverse(), openCount: ofOpen.length },
        ...{ swaps: rows.reverse(), swapCount: ofSwaps.length },
        swapLoss: formatUiAmount(
          ofSwaps.reduce((sum, { microUsd }) => sum + microUsd, 0n),
          USD_DECIMALS,
        ),
      };
    },
  };
}

function keptOf(wallet: string, receipt: Receipt): Kept {
  const { id, state, url, payment } = receipt;
  const words = [url, payment.payTo, payment.signature ?? '', id].join(' ').toLowerCase();
  return {
    wallet,
    state,
    words,
    spend: spendOf(receipt),
    row: JSON.stringify(receiptRow(receipt)),
  };
}

/** Drops the oldest entries beyond `MOST_KEPT`. */
function trim(entries: Map<string, unknown>): void {
  for (const id of entries.keys()) {
    if (entries.size <= MOST_KEPT) return;
    entries.delete(id);
  }
}

const TOP = 8;

/** Returns the groups with the highest cost, and all other groups as one. */
function topOf(rows: readonly Spending[]): Spending[] {
  if (rows.length <= TOP) return [...rows];
  const others = rows.slice(TOP - 1);
  return [...rows.slice(0, TOP - 1), sumOf(`${others.length} others`, others)];
}

/** Returns the spending of each of the last days, also of days without a payment. */
function lastDays(rows: readonly Spending[], now: number): Spending[] {
  const known = new Map(rows.map((row) => [row.group, row]));
  return Array.from({ length: MOST_DAYS }, (_, index) => {
    const at = now - (MOST_DAYS - 1 - index) * DAY_MS;
    const group = new Date(at).toISOString().slice(0, 10);
    return known.get(group) ?? sumOf(group, []);
  });
}
