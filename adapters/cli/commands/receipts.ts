import type { Receipt, ReceiptFilter } from 'exact-change';
import { decimalsReader } from '../../amounts.js';
import { csvHead, csvLine } from '../../receipts/csv.js';
import { ledgerText, type Ledger } from '../../receipts/ledger.js';
import { withClient } from '../client.js';
import type { Command } from '../report.js';
import { chartRows, spendingBy, spendOf, type Group } from '../spending.js';
import { tableText } from '../table.js';
import type { Terminal } from '../terminal.js';
import { mintOf } from '../tokens.js';
import { cleanLine } from '../clean.js';

export interface ReceiptsFlags {
  readonly csv?: boolean;
  readonly ledger?: Ledger;
  readonly chart?: Group;
  readonly last?: number;
  readonly since?: number;
  readonly until?: number;
  readonly host?: string;
  readonly token?: string;
  readonly state?: Receipt['state'];
}

/** Receipts that fit a screen. */
const ON_SCREEN = 20;

/** Shows the receipts of the wallet: in a table, as CSV or JSON, or summed up. */
export const receiptsCommand: Command<ReceiptsFlags> = (invocation) =>
  withClient(invocation, async ({ client, network }) => {
    const { terminal, flags } = invocation;
    const { csv, ledger, chart, last, json } = flags;
    const matching: Receipt[] = [];
    for await (const receipt of client.receipts(filterOf(flags, network))) matching.push(receipt);
    const receipts =
      last === undefined ? matching : matching.slice(Math.max(0, matching.length - last));
    if (chart !== undefined) {
      const spends = receipts.flatMap((receipt) => spendOf(receipt) ?? []);
      const spending = spendingBy(chart, spends);
      const head = [chart, 'spent', '', 'payments'];
      return { json: { spending }, text: tableText(terminal, head, chartRows(spending)) };
    }
    if (json === true) return { json: { receipts } };
    if (csv === true || ledger !== undefined) {
      const mints = receipts.flatMap(({ swap }) =>
        swap === undefined ? [] : [swap.inputMint, swap.outputMint],
      );
      const decimalsOf = await decimalsReader(client, mints);
      if (ledger !== undefined) return { json: {}, text: ledgerText(ledger, receipts, decimalsOf) };
      const lines = receipts.map((receipt) => csvLine(receipt, decimalsOf));
      return { json: {}, text: [csvHead, ...lines].join('') };
    }
    const shown = receipts.slice(Math.max(0, receipts.length - (last ?? ON_SCREEN)));
    const hidden = receipts.length - shown.length;
    return {
      json: {},
      text: receiptsTable(terminal, shown),
      notes: hidden === 0 ? [] : [`${hidden} earlier ones are not shown: --last <number>.`],
    };
  });

function filterOf(flags: ReceiptsFlags, network: string): ReceiptFilter {
  const { since, until, host, state, token } = flags;
  return {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(host === undefined ? {} : { host }),
    ...(state === undefined ? {} : { state }),
    ...(token === undefined ? {} : { mint: mintOf(token, network) }),
  };
}

/** Returns a table of receipts, in the given order. */
export function receiptsTable(terminal: Terminal, receipts: readonly Receipt[]): string {
  const rows = receipts.map(({ at, state, payment, cost, method, url, swap }) => [
    new Date(at).toISOString().slice(0, 16).replace('T', ' '),
    state,
    `${payment.uiAmount} ${payment.symbol ?? payment.mint}`,
    cost.usd === undefined ? '' : `${cost.usd} USD`,
    swap === undefined ? '' : 'swap',
    `${method} ${cleanLine(url)}`,
  ]);
  return tableText(terminal, ['time (UTC)', 'state', 'price', 'in all', '', 'call'], rows);
}
