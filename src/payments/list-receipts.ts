import { refuseUnknown } from '../internal/options.js';
import type { Receipt, ReceiptFilter } from '../receipt.js';
import { ownerOf, type PaymentContext } from './context.js';

/** Fields of {@link ReceiptFilter}. A misspelt field is refused, or it would filter nothing. */
const FIELDS: readonly (keyof ReceiptFilter)[] = [
  'state',
  'host',
  'payTo',
  'mint',
  'since',
  'until',
];

/** Lists the wallet's receipts in the journal that match a filter, oldest first. */
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
    if (receipt !== undefined && matches(receipt, filter)) yield receipt;
  }
}

/** Whether a receipt matches a filter. */
function matches(
  receipt: Receipt,
  { state, host, payTo, mint, since, until }: ReceiptFilter,
): boolean {
  if (since !== undefined && receipt.at < since) return false;
  if (until !== undefined && receipt.at >= until) return false;
  if (host !== undefined && new URL(receipt.url).host !== host) return false;
  const fields: readonly (readonly [wanted: string | undefined, actual: string])[] = [
    [state, receipt.state],
    [payTo, receipt.payment.payTo],
    [mint, receipt.payment.mint],
  ];
  return fields.every(([wanted, actual]) => wanted === undefined || wanted === actual);
}
