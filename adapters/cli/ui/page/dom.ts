export type Child = Node | string | undefined;

/** Makes an element. Text is never parsed as HTML, because most texts come from sellers. */
export function h<N extends keyof HTMLElementTagNameMap>(
  name: N,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[N] {
  return filled(document.createElement(name), attributes, children);
}

/** Makes an SVG element in the same way. */
export function s<N extends keyof SVGElementTagNameMap>(
  name: N,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[N] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  return filled(element, attributes, children);
}

function filled<E extends Element>(
  element: E,
  attributes: Readonly<Record<string, string>>,
  children: readonly Child[],
): E {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Returns the element with an id. Throws if it is missing or of another class. */
export function find<E extends HTMLElement>(id: string, type: abstract new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page has no #${id} of that kind.`);
}

/** Data that each element shows, so that only changed elements are drawn again. */
const shown = new WeakMap<Element, string>();

/** Redraws an element if its data has changed. The focus stays at the same id. */
export function draw(id: string, data: unknown, children: () => readonly Child[]): void {
  const place = find(id, HTMLElement);
  const text = JSON.stringify(data);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  const focused = document.activeElement?.id ?? '';
  place.replaceChildren(...children().filter((child) => child !== undefined));
  if (focused !== '' && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
}

export interface Column<Row> {
  readonly title: string;
  /** Kind of the cells: a phone hides `wide` cells; `number` cells are aligned right. */
  readonly kind?: 'wide' | 'number';
  cell(row: Row): Child;
}

/**
 * Makes a table, or a note if there are no rows. Its parts have explicit roles, because a phone
 * lays out each row as a card, and browsers then drop the roles of a table.
 */
export function table<Row>(
  labelledBy: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  none: string,
  after: (row: Row) => Child = () => undefined,
): HTMLElement {
  if (rows.length === 0) return h('p', { class: 'note' }, none);
  const head = columns.map(({ title, kind = '' }) =>
    h('th', { scope: 'col', role: 'columnheader', class: kind }, title),
  );
  const body = rows.flatMap((row) => [
    h(
      'tr',
      { role: 'row' },
      ...columns.map(({ title, kind = '', cell }) =>
        h('td', { role: 'cell', class: kind, 'data-title': title }, h('div', {}, cell(row))),
      ),
    ),
    after(row),
  ]);
  return h(
    'table',
    { role: 'table', 'aria-labelledby': labelledBy },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...head)),
    h('tbody', { role: 'rowgroup' }, ...body),
  );
}
