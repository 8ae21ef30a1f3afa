import { formatUiAmount, parseUiAmount, type Receipt } from 'exact-change';
import { barText } from './table.js';
import { cleanLine } from './clean.js';

const USD_DECIMALS = 6;

/** What spending is summed up by. */
export const GROUPS = {
  day: ({ at }) => new Date(at).toISOString().slice(0, 10),
  host: ({ url }) => cleanLine(new URL(url).host),
  token: ({ payment }) => payment.symbol ?? payment.mint,
} as const satisfies Readonly<Record<string, (receipt: Receipt) => string>>;

export type Group = keyof typeof GROUPS;

export interface Spending {
  readonly group: string;
  /** Decimal text of US dollars; what has no price is left out. */
  readonly usd: string;
  readonly payments: number;
}

/** All that left the wallet, by group: days in their order, others by what they cost. */
export function spendingBy(group: Group, receipts: readonly Receipt[]): Spending[] {
  const sums = new Map<string, { microUsd: bigint; payments: number }>();
  for (const receipt of receipts) {
    if (receipt.state === 'unsettled' && receipt.swap === undefined) continue;
    const name = GROUPS[group](receipt);
    const { microUsd = 0n, payments = 0 } = sums.get(name) ?? {};
    const cost = parseUiAmount(receipt.cost.usd ?? '0', USD_DECIMALS) ?? 0n;
    sums.set(name, { microUsd: microUsd + cost, payments: payments + 1 });
  }
  const rows = [...sums];
  rows.sort(([a, { microUsd: one }], [b, { microUsd: other }]) =>
    group === 'day' || one === other ? (a < b ? -1 : 1) : one > other ? -1 : 1,
  );
  return rows.map(([name, { microUsd, payments }]) => ({
    ...{ group: name, usd: formatUiAmount(microUsd, USD_DECIMALS), payments },
  }));
}

/** A bar for each group, the longest for what cost most. */
export function chartRows(rows: readonly Spending[]): string[][] {
  // A picture needs no exact number.
  const most = Math.max(...rows.map(({ usd }) => Number(usd)), Number.MIN_VALUE);
  return rows.map(({ group, usd, payments }) => [
    ...[group, barText(Number(usd) / most), `${usd} USD`, `${payments}`],
  ]);
}
