import type { CapUse } from 'exact-change';
import { element } from './dom.js';
import { microUsd, solText, usdText } from './text.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1000;

/** A part of a bar. */
interface Part {
  readonly name: string;
  readonly value: bigint;
}

const PERIODS: readonly (readonly [windowMs: number, name: string])[] = [
  [3_600_000, 'in an hour'],
  [86_400_000, 'in a day'],
];

const UNITS: Readonly<Record<string, string>> = {
  USD: 'Dollars',
  payments: 'Payments',
  swaps: 'Swaps',
  lamports: 'Network fees and rent',
};

/** Shows the use of each cap as a bar, with the most that the planned purchase may take. */
export function spendingChart(caps: readonly CapUse[], planned?: string): HTMLElement {
  const isInUsd = caps.some(({ unit }) => unit === 'USD');
  return element(
    'div',
    { class: 'chart' },
    ...caps.map((cap) => figure(cap, cap.unit === 'USD' ? planned : undefined)),
    isInUsd ? legend(planned !== undefined) : undefined,
  );
}

function figure(cap: CapUse, planned: string | undefined): HTMLElement {
  const { used, limit, unit, parts } = cap;
  const money = unit === 'USD';
  const [most, left] = [valueOf(unit, limit), valueOf(unit, limit) - valueOf(unit, used)];
  const pieces: Part[] = money
    ? [
        { name: 'payments', value: microUsd(parts?.payments ?? used) },
        { name: 'swaps', value: microUsd(parts?.swaps ?? '0') },
        { name: 'fees', value: microUsd(parts?.fees ?? '0') },
        { name: 'planned', value: microUsd(planned ?? '0') },
      ]
    : [{ name: unit === 'lamports' ? 'fees' : 'payments', value: valueOf(unit, used) }];
  const ofWhat = `${textOf(unit, used)} of ${textOf(unit, limit)}`;
  const details = money
    ? `: payments ${usdText(parts?.payments ?? used)}, swaps ${usdText(parts?.swaps ?? '0')}, fees and rent ${usdText(parts?.fees ?? '0')}` +
      (planned === undefined ? '' : `; this purchase would take up to ${usdText(planned)}`)
    : '';
  return element(
    'figure',
    {},
    element('figcaption', {}, element('span', {}, nameOf(cap)), element('strong', {}, ofWhat)),
    bar(pieces, most, `${nameOf(cap)}: ${ofWhat}${details}`),
    left <= 0n ? element('p', { class: 'note' }, 'Nothing is left of it.') : undefined,
  );
}

function bar(pieces: readonly Part[], most: bigint, label: string): Node {
  const svg = document.createElementNS(SVG, 'svg');
  const attributes = {
    viewBox: `0 0 ${WIDTH} 14`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
  };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  let from = 0;
  for (const { name, value } of pieces) {
    const share = most === 0n ? 0 : Number((value * BigInt(WIDTH) * 100n) / most) / 100;
    // Keep a nonzero part visible, even if it is tiny.
    const width = Math.min(WIDTH - from, value > 0n ? Math.max(4, share) : 0);
    const piece = document.createElementNS(SVG, 'rect');
    const place = { x: from, y: 0, width, height: 14, class: name };
    for (const [key, at] of Object.entries(place)) piece.setAttribute(key, String(at));
    svg.append(piece);
    from += width;
  }
  return svg;
}

function legend(isPlanned: boolean): HTMLElement {
  const names = ['payments', 'swaps', 'fees', ...(isPlanned ? ['planned'] : [])];
  const words: Readonly<Record<string, string>> = {
    fees: 'fees and rent',
    planned: 'this purchase, at most',
  };
  return element(
    'ul',
    { class: 'legend' },
    ...names.map((name) => element('li', { class: name }, words[name] ?? name)),
  );
}

function nameOf({ host, mint, windowMs, unit }: CapUse): string {
  const period = PERIODS.find(([length]) => length === windowMs)?.[1] ?? 'in all';
  const what = UNITS[unit] ?? 'Amount';
  return `${what} ${period}${host === undefined ? '' : `, at ${host}`}${mint === undefined ? '' : ', in one token'}`;
}

const valueOf = (unit: string, text: string) => (unit === 'USD' ? microUsd(text) : BigInt(text));

function textOf(unit: string, text: string): string {
  if (unit === 'USD') return usdText(text);
  return unit === 'lamports' ? solText(text) : text;
}
