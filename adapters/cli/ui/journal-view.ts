import { formatUiAmount, type Attempt, type AttemptFilter, type Receipt } from 'exact-change';
import {
  spendingBy,
  spendOf,
  together,
  type Group,
  type Spend,
  type Spending,
} from '../spending.js';
import { openRow, receiptRow, swapRow } from './rows.js';
import type { OpenRow, Overview, ReceiptPage, ReceiptRow, SwapRow } from './shown.js';

/** Which receipts; all that is given must hold. */
export interface ReceiptQuery {
  readonly wallet?: string | undefined;
  readonly state?: string | undefined;
  /** A part of an address, a payee, a transaction or an id, in any case. */
  readonly text?: string | undefined;
  /** How many of the newest are left out. */
  readonly from: number;
}

/** What an overview has of one wallet, or of all. */
export type Sums = Omit<Overview, 'wallets' | 'wallet' | 'caps' | 'endpoints' | 'deliveries'>;

/**
 * What a journal says, at hand for pages: read once, and from then on only what may have changed.
 */
export interface JournalView {
  /** Takes in what was written since. */
  refresh(): Promise<void>;
  wallets(): readonly string[];
  receipts(query: ReceiptQuery): ReceiptPage;
  sums(wallet?: string): Sums;
}

/** What is read: the attempts of all wallets, as a journal in a file has them. */
export interface Attempts {
  attempts(owner: undefined, filter?: AttemptFilter): AsyncIterable<Attempt>;
}

/** Of a receipt, what questions look at; the rest is JSON, which takes a third of an object. */
interface Kept {
  readonly wallet: string;
  readonly state: Receipt['state'];
  /** In lower case. */
  readonly words: string;
  readonly spend: Spend | undefined;
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
/** A page is for people: older receipts stay in the journal. */
const MOST_KEPT = 100_000;
const MOST_SHOWN = 100;
const MOST_DAYS = 30;
const DAY_MS = 86_400_000;
/** Clocks of a machine are set back by less. */
const SLACK_MS = 10_000;
const USD_DECIMALS = 6;

/**
 * @param stamp - What is another once the journal was written, such as the length of its file.
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
  let seen: string | undefined;
  let reading = Promise.resolve();

  const take = (attempt: Attempt): void => {
    const { id, at, wallet, receipt, swapped } = attempt;
    wallets.add(wallet);
    newest = Math.max(newest, at);
    if (receipt !== undefined) receipts.set(id, keptOf(wallet, receipt));
    const swap = swapRow(attempt);
    const microUsd = BigInt(swapped?.lossMicroUsd ?? '0');
    if (swap !== undefined) swaps.set(id, { wallet, microUsd, row: swap });
  };
  const read = async (): Promise<void> => {
    const current = await stamp();
    if (current === seen) return;
    const since = Math.min(newest - SLACK_MS, ...[...open.values()].map(({ at }) => at));
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
  };
  const of = <T extends { readonly wallet: string }>(all: Iterable<T>, wallet?: string): T[] =>
    [...all].filter((one) => wallet === undefined || one.wallet === wallet);

  return {
    // After one that is under way: that may have begun before what is asked about.
    refresh: () => (reading = reading.catch(() => undefined).then(read)),
    wallets: () => [...wallets],
    receipts({ wallet, state, text = '', from }) {
      const words = text.trim().toLowerCase();
      const found = of(receipts.values(), wallet).filter(
        (one) => (state === undefined || one.state === state) && one.words.includes(words),
      );
      const rows = found.reverse().slice(from, from + PAGE_SIZE);
      // Written by `keptOf`.
      return {
        rows: rows.map(({ row }) => JSON.parse(row) as ReceiptRow),
        ...{ total: found.length, from },
      };
    },
    sums(wallet) {
      const mine = of(receipts.values(), wallet);
      const spends = mine.flatMap(({ spend }) => spend ?? []);
      const by = (group: Group) => spendingBy(group, spends);
      const days = lastDays(by('day'), now());
      const ofSwaps = of(swaps.values(), wallet);
      const ofOpen = of(open.values(), wallet).flatMap(({ row }) => row ?? []);
      const rows = ofSwaps.slice(-MOST_SHOWN).map(({ row }) => row);
      return {
        ...{ receipts: mine.length, days, inDays: together('days', days) },
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

/** Drops what was made first. */
function trim(all: Map<string, unknown>): void {
  for (const id of all.keys()) {
    if (all.size <= MOST_KEPT) return;
    all.delete(id);
  }
}

const TOP = 8;

/** Those that cost most, and all others in one. */
function topOf(rows: readonly Spending[]): Spending[] {
  if (rows.length <= TOP) return [...rows];
  const rest = rows.slice(TOP - 1);
  return [...rows.slice(0, TOP - 1), together(`${rest.length} others`, rest)];
}

/** Each of the last days, those without a payment too. */
function lastDays(rows: readonly Spending[], now: number): Spending[] {
  const known = new Map(rows.map((row) => [row.group, row]));
  return Array.from({ length: MOST_DAYS }, (_, index) => {
    const at = now - (MOST_DAYS - 1 - index) * DAY_MS;
    const group = new Date(at).toISOString().slice(0, 10);
    return known.get(group) ?? together(group, []);
  });
}
