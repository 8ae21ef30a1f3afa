export type Child = Node | string | undefined;

/** An element. Text becomes text, whatever it says: most of it is a seller's. */
export function h<N extends keyof HTMLElementTagNameMap>(
  name: N,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[N] {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a drawing. */
export function s<N extends keyof SVGElementTagNameMap>(
  name: N,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[N] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  return filled(made, attributes, children);
}

function filled<E extends Element>(
  made: E,
  attributes: Readonly<Record<string, string>>,
  children: readonly Child[],
): E {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** The element of the page with an id, which is of a class. */
export function find<E extends HTMLElement>(id: string, type: abstract new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page has no #${id} of that kind.`);
}

/** What each place shows, so that only what has changed is drawn again. */
const shown = new WeakMap<Element, string>();

/** Draws a place anew if what it is about has changed. The focus stays at the same id. */
export function draw(id: string, about: unknown, children: () => readonly Child[]): void {
  const place = find(id, HTMLElement);
  const text = JSON.stringify(about);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  const focused = document.activeElement?.id ?? '';
  place.replaceChildren(...children().filter((child) => child !== undefined));
  if (focused !== '' && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
}

export interface Column<Row> {
  readonly title: string;
  /** Of its cells; `wide` is left out on a phone, `number` stands right. */
  readonly kind?: 'wide' | 'number';
  cell(row: Row): Child;
}

/**
 * A table, or a note if it has no rows. Its parts have their roles by name: on a phone each row is
 * laid out as a card, and browsers take what is laid out otherwise for no table.
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
