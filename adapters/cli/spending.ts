import { formatUiAmount, parseUiAmount, type Receipt } from 'exact-change';
import { barText } from './table.js';
import { cleanLine } from './clean.js';

const USD_DECIMALS = 6;

/** The cost of one payment. */
export interface Spend {
  /** Undefined if a part of the cost has no price. */
  readonly microUsd: bigint | undefined;
  /** Day in UTC, such as `2026-07-01`. */
  readonly day: string;
  readonly host: string;
  readonly token: string;
}

/** A field to sum spending by. */
export type Group = 'day' | 'host' | 'token';

export interface Spending {
  readonly group: string;
  /** Decimal text of US dollars, without costs that have no price. */
  readonly usd: string;
  readonly payments: number;
  /** How many of the payments have no price, and are left out of `usd`; absent if all have one. */
  readonly unpriced?: number;
}

interface Sum extends Required<Pick<Spending, 'payments' | 'unpriced'>> {
  readonly microUsd: bigint;
}

/** Returns the cost of a payment; undefined if no tokens left the wallet. */
export function spendOf({ at, state, swap, url, payment, cost }: Receipt): Spend | undefined {
  if (state === 'unsettled' && swap === undefined) return undefined;
  return {
    microUsd: cost.usd === undefined ? undefined : microOf(cost.usd),
    day: new Date(at).toISOString().slice(0, 10),
    host: cleanLine(new URL(url).host),
    token: payment.symbol ?? payment.mint,
  };
}

/** Sums spending by group. Days are in order; hosts and tokens begin with the highest cost. */
export function spendingBy(group: Group, spends: readonly Spend[]): Spending[] {
  const sums = new Map<string, Sum>();
  for (const spend of spends) {
    const name = spend[group];
    const { microUsd = 0n, payments = 0, unpriced = 0 } = sums.get(name) ?? {};
    sums.set(name, {
      microUsd: microUsd + (spend.microUsd ?? 0n),
      payments: payments + 1,
      unpriced: spend.microUsd === undefined ? unpriced + 1 : unpriced,
    });
  }
  const rows = [...sums];
  rows.sort(([a, { microUsd: one }], [b, { microUsd: other }]) =>
    group === 'day' || one === other ? (a < b ? -1 : 1) : one > other ? -1 : 1,
  );
  return rows.map(([name, sum]) => spendingOf(name, sum));
}

/** Returns the sum of several groups, as one group. */
export function sumOf(group: string, rows: readonly Spending[]): Spending {
  const microUsd = rows.reduce((sum, { usd }) => sum + microOf(usd), 0n);
  const payments = rows.reduce((sum, row) => sum + row.payments, 0);
  const unpriced = rows.reduce((sum, row) => sum + (row.unpriced ?? 0), 0);
  return spendingOf(group, { microUsd, payments, unpriced });
}

function spendingOf(group: string, { microUsd, payments, unpriced }: Sum): Spending {
  const usd = formatUiAmount(microUsd, USD_DECIMALS);
  return { group, usd, payments, ...(unpriced === 0 ? {} : { unpriced }) };
}

function microOf(usd: string): bigint {
  return parseUiAmount(usd, USD_DECIMALS) ?? 0n;
}

/** Returns a bar for each group. The group with the highest cost has the longest bar. */
export function chartRows(rows: readonly Spending[]): string[][] {
  // A bar needs no exact amount, so a number will do.
  const most = Math.max(...rows.map(({ usd }) => Number(usd)), Number.MIN_VALUE);
  return rows.map(({ group, usd, payments, unpriced }) => [
    ...[group, barText(Number(usd) / most), `${usd} USD`],
    unpriced === undefined ? `${payments}` : `${payments} (${unpriced} without a price)`,
  ]);
}
