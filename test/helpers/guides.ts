import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** README and the guides, by their path from the root of the repository. */
export const GUIDES: readonly string[] = [
  'README.md',
  ...readdirSync(new URL('docs', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export interface Block {
  /** Such as `ts`, `sh`, `json` or `text`. */
  readonly language: string;
  readonly code: string;
}

export function readGuide(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** The code blocks of a guide, in their order. */
export function blocksOf(path: string): Block[] {
  return [...readGuide(path).matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ([, language = '', code = '']) => ({ language, code }),
  );
}

/** The block of a guide that holds a text, and the one after it, which says what it prints. */
export function blockWith(
  path: string,
  text: string,
): { readonly code: string; readonly printed: string } {
  const blocks = blocksOf(path);
  const index = blocks.findIndex(({ code }) => code.includes(text));
  return { code: blocks[index]?.code ?? '', printed: blocks[index + 1]?.code ?? '' };
}

/**
 * Whether a line was printed as a guide shows it. `...`, and the letters before it, stand for any
 * text: addresses differ by run.
 */
export function isShownAs(line: string, shown: string): boolean {
  const parts = shown.split(/\w*\.{3}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`).test(line);
}
