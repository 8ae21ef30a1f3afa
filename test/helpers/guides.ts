import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** Paths of README and the guides, relative to the root of the repository. */
export const GUIDES: readonly string[] = [
  'README.md',
  ...readdirSync(new URL('docs', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export interface Block {
  /** `ts`, `sh`, `json` or `text`, for example. */
  readonly language: string;
  readonly code: string;
}

export function readGuide(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** Returns the code blocks of a guide, in order. */
export function blocksOf(path: string): Block[] {
  return [...readGuide(path).matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ([, language = '', code = '']) => ({ language, code }),
  );
}

/** Returns the code block that contains a text, and the next block, which shows its output. */
export function blockWith(
  path: string,
  text: string,
): { readonly code: string; readonly printed: string } {
  const blocks = blocksOf(path);
  const index = blocks.findIndex(({ code }) => code.includes(text));
  return { code: blocks[index]?.code ?? '', printed: blocks[index + 1]?.code ?? '' };
}

/**
 * Returns true if a printed line matches the line in a guide. In the guide, `...` and the letters
 * before it stand for any text, because addresses differ in each run.
 */
export function isShownAs(line: string, shown: string): boolean {
  const parts = shown.split(/\w*\.{3}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`).test(line);
}
