import type { CapUse } from 'exact-change';
import type { Spending } from '../../spending.js';
import { h, s, table, type Child } from './dom.js';
import { countText, short, solText, usdText } from './text.js';

const WIDTH = 1000;

/** Returns a rounded share from 0 to 1 for a bar; the text beside the bar is exact. */
const share = (part: string, whole: string): number =>
  Number(whole) > 0 ? Math.min(1, Number(part) / Number(whole)) : Number(part) > 0 ? 1 : 0;

interface Piece {
  readonly kind: string;
  /** Share of the bar, from 0 to 1. */
  readonly share: number;
}

/** Draws a bar in pieces. A nonzero piece stays visible, even if it is tiny. */
function bar(pieces: readonly Piece[], label?: string): SVGElement {
  let from = 0;
  const rects = pieces.map(({ kind, share: part }) => {
    const width = Math.min(WIDTH - from, part > 0 ? Math.max(4, part * WIDTH) : 0);
    const rect = s('rect', { class: kind, x: `${from}`, y: '0', width: `${width}`, height: '14' });
    from += width;
    return rect;
  });
  const aria =
    label === undefined ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label };
  const box = { viewBox: `0 0 ${WIDTH} 14`, preserveAspectRatio: 'none', class: 'bar' };
  return s('svg', { ...box, ...aria }, ...rects);
}

const PERIODS: readonly (readonly [ms: number, name: string])[] = [
  [3_600_000, 'an hour'],
  [86_400_000, '24 hours'],
  [604_800_000, '7 days'],
];
const UNITS: Readonly<Record<string, string>> = {
  USD: 'Dollars',
  payments: 'Payments',
  swaps: 'Swaps',
  lamports: 'Fees and rent',
};
const NEARLY = 0.8;

/** Draws a bar for each cap, with the used parts by kind. */
export function capBars(caps: readonly CapUse[]): Child[] {
  if (caps.length === 0)
    return [h('p', { class: 'note' }, 'There is no wallet yet: exact-change wallet new.')];
  const isInUsd = caps.some(({ unit }) => unit === 'USD');
  return [...caps.map(capBar), isInUsd ? legend() : undefined];
}

function capBar(cap: CapUse): HTMLElement {
  const { used, limit, unit, parts } = cap;
  const usedOfLimit = `${inUnit(used, unit)} of ${inUnit(limit, unit)}`;
  const singlePart = { [unit === 'lamports' ? 'fees' : 'payments']: used };
  const pieces = Object.entries<string>({ ...(parts ?? singlePart) });
  const [full, name] = [share(used, limit), capName(cap)];
  const state = full >= 1 ? ' (used up)' : full >= NEARLY ? ' (nearly used up)' : '';
  const details =
    parts === undefined
      ? ''
      : `: payments ${usdText(parts.payments)}, swaps ${usdText(parts.swaps)}, fees and rent ${usdText(parts.fees)}`;
  return h(
    'figure',
    full >= NEARLY ? { class: 'nearly' } : {},
    h('figcaption', {}, h('span', {}, name), h('strong', {}, `${usedOfLimit}${state}`)),
    bar(
      pieces.map(([kind, value]) => ({ kind, share: share(value, limit) })),
      `${name}: ${usedOfLimit}${state}${details}`,
    ),
  );
}

function inUnit(value: string, unit: string): string {
  if (unit === 'USD') return usdText(value);
  return unit === 'lamports' ? solText(value) : value;
}

function capName({ unit, windowMs, host, payee, mint }: CapUse): string {
  const period = PERIODS.find(([ms]) => ms === windowMs)?.[1];
  const during =
    period ??
    (windowMs === undefined ? 'all time' : countText(windowMs / 3_600_000, 'hour', 'hours'));
  const about = [host, payee && short(payee), mint && short(mint)].filter(Boolean).join(', ');
  return `${UNITS[unit] ?? `Base units of ${short(unit)}`} in ${during}${about && `: ${about}`}`;
}

function legend(): HTMLElement {
  const names = { payments: 'payments', swaps: 'swaps', fees: 'fees and rent' };
  const items = Object.entries(names).map(([kind, name]) => h('li', { class: kind }, name));
  return h('ul', { class: 'legend' }, ...items);
}

/** Counts payments, and those among them that no sum in dollars includes. */
function paymentsText({ payments, unpriced }: Spending): string {
  const without = unpriced === undefined ? '' : ` (${unpriced} without a price)`;
  return `${payments.toLocaleString('en')}${without}`;
}

const HEIGHT = 120;
const STEP = 20;

/** Draws a column for each day, and shows the same numbers as a table. */
export function dayColumns(days: readonly Spending[]): Child[] {
  const most = days.reduce((max, { usd }) => Math.max(max, Number(usd)), 0);
  const spent = days.filter(({ payments }) => payments > 0);
  if (spent.length === 0) return [h('p', { class: 'note' }, 'Nothing was spent in these 30 days.')];
  const top = spent.reduce((a, b) => (Number(b.usd) > Number(a.usd) ? b : a));
  const columns = days.map(({ group, usd, payments }, index) => {
    const height = Number(usd) > 0 ? Math.max(2, (Number(usd) / most) * HEIGHT) : 0;
    const place = { x: `${index * STEP + 2}`, y: `${HEIGHT - height}`, rx: '2' };
    return s(
      'rect',
      { ...place, width: `${STEP - 4}`, height: `${height}`, class: 'payments' },
      s('title', {}, `${group}: ${usdText(usd)}, ${countText(payments, 'payment', 'payments')}`),
    );
  });
  const label = `Dollars a day in 30 days; the most is ${usdText(top.usd)} on ${top.group}.`;
  const box = { viewBox: `0 0 ${days.length * STEP} ${HEIGHT + 1}`, preserveAspectRatio: 'none' };
  const floor = {
    x: '0',
    y: `${HEIGHT}`,
    width: `${days.length * STEP}`,
    height: '1',
    class: 'floor',
  };
  return [
    s(
      'svg',
      { ...box, class: 'days', role: 'img', 'aria-label': label },
      ...columns,
      s('rect', floor),
    ),
    h(
      'p',
      { class: 'axis' },
      h('span', {}, days[0]?.group ?? ''),
      h('span', {}, `most: ${usdText(top.usd)}`),
      h('span', {}, days[days.length - 1]?.group ?? ''),
    ),
    h(
      'details',
      {},
      h('summary', { id: 'days-summary' }, 'As a table, in UTC'),
      table(
        'days-title',
        [
          { title: 'Day', cell: ({ group }) => group },
          { title: 'Spent', kind: 'number', cell: ({ usd }) => usdText(usd) },
          { title: 'Payments', kind: 'number', cell: paymentsText },
        ],
        [...spent].reverse(),
        '',
      ),
    ),
  ];
}

/** Shows the spending by host or token, each with a bar relative to the highest. */
export function groupBars(titledBy: string, title: string, rows: readonly Spending[]): Child[] {
  const most = rows.reduce((max, { usd }) => (Number(usd) > Number(max) ? usd : max), '0');
  const rowsWithBars = table(
    titledBy,
    [
      { title, cell: ({ group }) => h('span', { class: 'name' }, shownGroup(group)) },
      { title: 'Spent', kind: 'number', cell: ({ usd }) => usdText(usd) },
      { title: 'Payments', kind: 'number', cell: paymentsText },
    ],
    rows,
    'Nothing was spent yet.',
    ({ usd }) =>
      h(
        'tr',
        { class: 'under', 'aria-hidden': 'true' },
        h('td', { colspan: '3' }, bar([{ kind: 'payments', share: share(usd, most) }])),
      ),
  );
  return [rowsWithBars];
}

/** Shortens a mint, which is too long for a name; a host stays whole. */
const shownGroup = (group: string): string =>
  /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(group) ? short(group) : group;
