import { explorerUrl, formatReceipt, type Receipt } from 'exact-change';
import { element } from './dom.js';
import { amountText, usdText } from './text.js';

const STATES: Readonly<Record<Receipt['state'], string>> = {
  pending: 'on its way',
  settled: 'settled',
  unsettled: 'never landed',
  uncertain: 'not known yet',
};

/** Shows receipts, newest first. */
export function receiptList(receipts: readonly Receipt[], isSandbox: boolean): HTMLElement {
  if (receipts.length === 0)
    return element('p', { class: 'note' }, 'What is paid shows here, also after a reload.');
  return element(
    'ul',
    { class: 'receipts' },
    ...[...receipts].reverse().map((receipt) => entry(receipt, isSandbox)),
  );
}

function entry(receipt: Receipt, isSandbox: boolean): HTMLElement {
  const { url, at, state, payment, cost, swap } = receipt;
  const { mint, amount, decimals, network, signature } = payment;
  const { host, pathname } = new URL(url);
  return element(
    'li',
    {},
    element(
      'div',
      { class: 'line' },
      element('span', { class: 'place' }, `${host}${pathname}`),
      element('strong', {}, amountText(mint, amount, decimals)),
    ),
    element(
      'div',
      { class: 'line small' },
      element(
        'span',
        {},
        element('span', { class: `state ${state}` }, STATES[state]),
        ` ${new Date(at).toLocaleTimeString()}${swap === undefined ? '' : ', after a swap'}`,
      ),
      element('span', {}, cost.usd === undefined ? '' : `${usdText(cost.usd)} in all`),
    ),
    element(
      'details',
      {},
      element('summary', {}, 'Details'),
      element('pre', {}, formatReceipt(receipt)),
      // No explorer shows the sandbox's chain.
      isSandbox || signature === undefined ? undefined : link(explorerUrl(signature, network)),
    ),
  );
}

function link(href: string): HTMLElement {
  const made = element('a', {}, 'See it on chain');
  made.href = href;
  made.rel = 'noreferrer';
  return made;
}
