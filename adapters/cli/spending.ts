import { formatUiAmount, parseUiAmount, type Receipt } from 'exact-change';
import { barText } from './table.js';
import { cleanLine } from './clean.js';

const USD_DECIMALS = 6;

/** The cost of one payment. */
export interface Spend {
  readonly microUsd: bigint;
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
}

/** Returns the cost of a payment; undefined if no tokens left the wallet. */
export function spendOf({ at, state, swap, url, payment, cost }: Receipt): Spend | undefined {
  if (state === 'unsettled' && swap === undefined) return undefined;
  return {
    microUsd: microOf(cost.usd ?? '0'),
    day: new Date(at).toISOString().slice(0, 10),
    host: cleanLine(new URL(url).host),
    token: payment.symbol ?? payment.mint,
  };
}

/** Sums spending by group. Days are in order; hosts and tokens begin with the highest cost. */
export function spendingBy(group: Group, spends: readonly Spend[]): Spending[] {
  const sums = new Map<string, { microUsd: bigint; payments: number }>();
  for (const spend of spends) {
    const name = spend[group];
    const { microUsd = 0n, payments = 0 } = sums.get(name) ?? {};
    sums.set(name, { microUsd: microUsd + spend.microUsd, payments: payments + 1 });
  }
  const rows = [...sums];
  rows.sort(([a, { microUsd: one }], [b, { microUsd: other }]) =>
    group === 'day' || one === other ? (a < b ? -1 : 1) : one > other ? -1 : 1,
  );
  return rows.map(([name, { microUsd, payments }]) => ({
    ...{ group: name, usd: formatUiAmount(microUsd, USD_DECIMALS), payments },
  }));
}

/** Returns the sum of several groups, as one group. */
export function sumOf(group: string, rows: readonly Spending[]): Spending {
  const microUsd = rows.reduce((sum, { usd }) => sum + microOf(usd), 0n);
  const payments = rows.reduce((sum, row) => sum + row.payments, 0);
  return { group, usd: formatUiAmount(microUsd, USD_DECIMALS), payments };
}

function microOf(usd: string): bigint {
  return parseUiAmount(usd, USD_DECIMALS) ?? 0n;
}

/** Returns a bar for each group. The group with the highest cost has the longest bar. */
export function chartRows(rows: readonly Spending[]): string[][] {
  // A bar needs no exact amount, so a number will do.
  const most = Math.max(...rows.map(({ usd }) => Number(usd)), Number.MIN_VALUE);
  return rows.map(({ group, usd, payments }) => [
    ...[group, barText(Number(usd) / most), `${usd} USD`, `${payments}`],
  ]);
}
