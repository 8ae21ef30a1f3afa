import { refuseUnknown } from '../internal/options.js';
import type { Receipt, ReceiptFilter } from '../receipt.js';
import { ownerOf, type PaymentContext } from './context.js';

/** The fields of a {@link ReceiptFilter}: one that is misspelt would list everything. */
const FIELDS: readonly (keyof ReceiptFilter)[] = [
  'state',
  'host',
  'payTo',
  'mint',
  'since',
  'until',
];

/** Receipts in the journal, oldest first. */
export async function* listReceipts(
  context: PaymentContext,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt> {
  refuseUnknown(filter, FIELDS, 'filter');
  const { since } = filter;
  for await (const { receipt } of context.journal.attempts(
    ownerOf(context),
    since === undefined ? {} : { since },
  )) {
    if (receipt !== undefined && fits(receipt, filter)) yield receipt;
  }
}

/** Whether a receipt is one that a filter asks for. */
function fits(
  receipt: Receipt,
  { state, host, payTo, mint, since, until }: ReceiptFilter,
): boolean {
  if (since !== undefined && receipt.at < since) return false;
  if (until !== undefined && receipt.at >= until) return false;
  if (host !== undefined && new URL(receipt.url).host !== host) return false;
  const wanted: readonly (readonly [string | undefined, string])[] = [
    [state, receipt.state],
    [payTo, receipt.payment.payTo],
    [mint, receipt.payment.mint],
  ];
  return wanted.every(([want, is]) => want === undefined || want === is);
}
