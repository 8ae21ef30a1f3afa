type Child = Node | string | undefined;

interface Attributes {
  readonly class?: string;
  readonly onclick?: () => void;
  readonly [name: `aria-${string}` | `data-${string}`]: string;
  readonly id?: string;
  readonly role?: string;
  readonly tabindex?: string;
  readonly type?: string;
  readonly open?: string;
  readonly href?: string;
}

/** Makes an element. Text is never parsed as HTML, because most texts come from sellers. */
export function element<N extends keyof HTMLElementTagNameMap>(
  name: N,
  { onclick, ...attributes }: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[N] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (onclick !== undefined) made.addEventListener('click', onclick);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Returns the element with an id. */
export function find(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no #${id}.`);
  return found;
}

/** Returns the input field with an id. */
export function field(id: string): HTMLInputElement {
  const found = find(id);
  if (found instanceof HTMLInputElement) return found;
  throw new Error(`#${id} is no field.`);
}

/** Replaces the content of an element. */
export function show(id: string, ...children: readonly Child[]): void {
  find(id).replaceChildren(...children.filter((child) => child !== undefined));
}

/** Makes a description list of terms with their values. */
export function facts(rows: readonly (readonly [term: string, ...Child[]])[]): HTMLElement {
  return element(
    'dl',
    {},
    ...rows.map(([term, ...said]) =>
      element('div', {}, element('dt', {}, term), element('dd', {}, ...said)),
    ),
  );
}
