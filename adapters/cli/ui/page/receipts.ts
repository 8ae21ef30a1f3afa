import type { ReceiptPage, ReceiptRow } from '../shown.js';
import { draw, find, h, table, type Child, type Column } from './dom.js';
import { placeOf } from './tables.js';
import { chainLink, timeOf, usdText } from './text.js';

const STATES: Readonly<Record<ReceiptRow['state'], string>> = {
  pending: 'on its way',
  settled: 'settled',
  unsettled: 'never landed',
  uncertain: 'not known yet',
};

/** Ids of receipts with open details. */
const opened = new Set<string>();

const COLUMNS: readonly Column<ReceiptRow>[] = [
  { title: 'Time', kind: 'wide', cell: ({ at }) => timeOf(at) },
  { title: 'Call', cell: placeOf },
  { title: 'Price', kind: 'number', cell: ({ price }) => price },
  {
    title: 'In all',
    kind: 'number',
    cell: ({ usd }) => (usd === undefined ? 'not known' : usdText(usd)),
  },
  {
    title: 'State',
    cell: ({ state, hasSwap }) =>
      h('span', { class: `state ${state}` }, `${STATES[state]}${hasSwap ? ', with a swap' : ''}`),
  },
  { title: 'Details', cell: toggle },
];

/** Shows a page of receipts, and its position among all receipts. */
export function showReceipts({ rows, total, from }: ReceiptPage): void {
  draw('receipts', rows, () => [
    table('receipts-title', COLUMNS, rows, 'No receipt fits. What is paid shows here.', details),
  ]);
  const range =
    total === 0
      ? ''
      : `${(from + 1).toLocaleString('en')} to ${(from + rows.length).toLocaleString('en')} of ${total.toLocaleString('en')}`;
  draw('range', range, () => [range]);
  for (const [id, isOff] of [
    ['newest', from === 0],
    ['newer', from === 0],
    ['older', from + rows.length >= total],
    ['oldest', from + rows.length >= total],
  ] as const)
    // Use aria-disabled, because a disabled button would lose the focus.
    find(id, HTMLButtonElement).setAttribute('aria-disabled', String(isOff));
}

function toggle({ id, host, path }: ReceiptRow): Child {
  const button = h(
    'button',
    {
      type: 'button',
      id: `toggle-${id}`,
      class: 'quiet',
      'aria-expanded': String(opened.has(id)),
      'aria-controls': `details-${id}`,
      'aria-label': `Show details of ${host}${path}`,
    },
    'Show',
  );
  button.addEventListener('click', () => {
    const isOpen = !opened.delete(id);
    if (isOpen) opened.add(id);
    button.setAttribute('aria-expanded', String(isOpen));
    find(`details-${id}`, HTMLElement).hidden = !isOpen;
  });
  return button;
}

function details({ id, details: rows, link }: ReceiptRow): Child {
  const facts = rows.map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text)));
  const row = h(
    'tr',
    { id: `details-${id}`, class: 'details', role: 'row' },
    h(
      'td',
      { role: 'cell', colspan: `${COLUMNS.length}` },
      h('dl', {}, ...facts),
      link === undefined ? undefined : h('p', {}, chainLink(link, 'See the payment on chain')),
    ),
  );
  row.hidden = !opened.has(id);
  return row;
}
