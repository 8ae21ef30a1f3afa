import type { WebhookDelivery } from 'exact-change/webhooks';
import type { EndpointRow, OpenRow, Overview, SwapRow } from '../shown.js';
import { h, table, type Child, type Column } from './dom.js';
import { chainLink, countText, short, timeOf, usdText } from './text.js';

const OPEN_STATES: Readonly<Record<OpenRow['state'], string>> = {
  reserved: 'reserved: no payment is signed yet',
  abandoned: 'failed before it was signed; its swap may still land',
  signed: 'signed: the chain has not decided yet',
};

/** Shows the host, method and path of a call. */
export function placeOf({ host, path, method }: Pick<OpenRow, 'host' | 'path' | 'method'>): Child {
  const rest = `${method === 'GET' ? '' : `${method} `}${path}`;
  return h('span', { class: 'name' }, h('strong', {}, host), ` ${rest}`);
}

const when = { title: 'Time', cell: ({ at }: { readonly at: number }) => timeOf(at) };

export function openTable(rows: readonly OpenRow[]): Child {
  const columns: readonly Column<OpenRow>[] = [
    { title: 'Call', cell: placeOf },
    { title: 'Price', kind: 'number', cell: ({ price }) => price },
    {
      title: 'State',
      cell: ({ state, doubt }) =>
        h(
          'span',
          { class: `state ${doubt === undefined ? 'pending' : 'uncertain'}` },
          `${OPEN_STATES[state]}${doubt === undefined ? '' : `; the answer: ${doubt}`}`,
        ),
    },
    { title: 'Lands by block', kind: 'wide', cell: ({ until }) => until ?? '' },
    { ...when, title: 'Since', kind: 'wide' },
  ];
  return table('open-title', columns, rows, 'Nothing is open.');
}

const SWAP_STATES: Readonly<Record<SwapRow['state'], string>> = {
  confirmed: 'settled',
  failed: 'unsettled',
  open: 'pending',
};

export function swapTables({ swaps, swapCount, swapLoss }: Overview): Child[] {
  const columns: readonly Column<SwapRow>[] = [
    {
      title: 'Swap',
      cell: ({ gave, got }) => h('span', { class: 'name' }, `${gave} into ${got}`),
    },
    { title: 'Lost', kind: 'number', cell: ({ loss }) => usdText(loss) },
    { title: 'Fees and rent', kind: 'wide', cell: ({ fees }) => fees },
    {
      title: 'State',
      cell: ({ state }) => h('span', { class: `state ${SWAP_STATES[state]}` }, state),
    },
    { title: 'By', kind: 'wide', cell: ({ provider }) => provider },
    { ...when, kind: 'wide' },
    {
      title: 'Chain',
      kind: 'wide',
      cell: ({ link, id }) => chainLink(link, short(id)),
    },
  ];
  const shown = swaps.length < swapCount ? `, of which the last ${swaps.length} are shown` : '';
  const sum = `${countText(swapCount, 'swap', 'swaps')}${shown}; they took ${usdText(swapLoss)} beyond what they brought.`;
  return [
    swapCount === 0 ? undefined : h('p', { class: 'note' }, sum),
    table('swaps-title', columns, swaps, 'No payment needed a swap yet.'),
  ];
}

export function endpointTable(rows: readonly EndpointRow[]): Child {
  const columns: readonly Column<EndpointRow>[] = [
    {
      title: 'Endpoint',
      cell: ({ place, id }) =>
        h('span', { class: 'name' }, h('strong', {}, place), ' ', h('code', {}, id)),
    },
    { title: 'State', cell: endpointState },
    { title: 'Events', kind: 'wide', cell: ({ events }) => events.join(', ') },
    {
      title: 'Last accepted',
      kind: 'wide',
      cell: ({ acceptedAt }) => (acceptedAt === undefined ? 'nothing yet' : timeOf(acceptedAt)),
    },
  ];
  return table('webhooks-title', columns, rows, 'No endpoint is registered.');
}

function endpointState({ disabledAt, waiting, failures, nextAt }: EndpointRow): Child {
  if (disabledAt !== undefined)
    return h('span', { class: 'state unsettled' }, 'told nothing more since ', timeOf(disabledAt));
  if (waiting === 0) return h('span', { class: 'state settled' }, 'up to date');
  const failed = failures === 0 ? '' : `, ${countText(failures, 'try', 'tries')} failed`;
  const next = nextAt === undefined ? [] : ['; next ', timeOf(nextAt)];
  return h(
    'span',
    { class: `state ${failures === 0 ? 'pending' : 'uncertain'}` },
    `${countText(waiting, 'event waits', 'events wait')}${failed}`,
    ...next,
  );
}

export function deliveryTable(rows: readonly WebhookDelivery[]): Child {
  const columns: readonly Column<WebhookDelivery>[] = [
    when,
    { title: 'Event', cell: ({ event }) => event },
    { title: 'Endpoint', kind: 'wide', cell: ({ endpoint }) => h('code', {}, endpoint) },
    { title: 'Result', cell: deliveryResult },
    { title: 'Took', kind: 'wide', cell: ({ ms }) => `${ms} ms` },
  ];
  return table(
    'deliveries-title',
    columns,
    rows,
    'None since the service was started. Those before are not kept.',
  );
}

function deliveryResult({ delivered, status, failures, nextAt }: WebhookDelivery): Child {
  const tries = failures + 1;
  if (delivered)
    return h('span', { class: 'state settled' }, tries === 1 ? 'taken' : `taken at try ${tries}`);
  const why = status === 0 ? 'no answer' : `answer ${status}`;
  const next = nextAt === undefined ? ['; it is dropped'] : ['; again ', timeOf(nextAt)];
  return h('span', { class: 'state unsettled' }, `${why}, try ${tries}`, ...next);
}
