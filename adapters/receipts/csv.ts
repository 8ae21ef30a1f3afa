import { formatUiAmount } from '../../src/amount.js';
import type { Receipt } from '../../src/receipt.js';
import { symbolOf } from '../../src/network.js';

/** Returns the decimals of a mint; undefined if unknown. */
export type DecimalsOf = (mint: string) => number | undefined;

type Column = (receipt: Receipt, decimalsOf: DecimalsOf) => string | number | undefined;

const COLUMNS: Readonly<Record<string, Column>> = {
  id: ({ id }) => id,
  at: ({ at }) => new Date(at).toISOString(),
  state: ({ state }) => state,
  host: ({ url }) => new URL(url).host,
  method: ({ method }) => method,
  path: ({ url }) => new URL(url).pathname,
  amount: ({ payment }) => payment.uiAmount,
  token: ({ payment }) => payment.symbol,
  mint: ({ payment }) => payment.mint,
  decimals: ({ payment }) => payment.decimals,
  usd: ({ cost }) => cost.usd,
  feeLamports: ({ cost }) => cost.networkFeeLamports,
  rentLamports: ({ cost }) => cost.rentLamports,
  swapIn: ({ swap }, decimalsOf) => swap && uiAmountOf(swap.inAmount, decimalsOf(swap.inputMint)),
  swapInUnits: ({ swap }) => swap?.inAmount,
  swapInToken: ({ swap, payment }) => swap && symbolOf(payment.network, swap.inputMint).symbol,
  swapInMint: ({ swap }) => swap?.inputMint,
  swapSignature: ({ swap }) => swap?.signature,
  payTo: ({ payment }) => payment.payTo,
  payer: ({ payment }) => payment.payer,
  payerSignature: ({ payment }) => payment.payerSignature,
  signature: ({ payment }) => payment.signature,
};

/** The first line: the names of the columns. */
export const csvHead: string = lineOf(Object.keys(COLUMNS));

/**
 * Returns a receipt as a line of CSV (RFC 4180): times in UTC, amounts in decimals. If a
 * spreadsheet would read a cell as a formula, the cell begins with an apostrophe: its text may be a
 * seller's.
 */
export function csvLine(receipt: Receipt, decimalsOf: DecimalsOf): string {
  return lineOf(Object.values(COLUMNS).map((column) => `${column(receipt, decimalsOf) ?? ''}`));
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

function cellOf(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function uiAmountOf(units: string, decimals: number | undefined): string | undefined {
  return decimals === undefined ? undefined : formatUiAmount(BigInt(units), decimals);
}
