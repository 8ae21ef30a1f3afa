import Table from 'cli-table3';
import type { Terminal } from './terminal.js';

const NONE = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '' };
const CHARS = {
  ...NONE,
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', right: '', 'right-mid': '', mid: '', 'mid-mid': '', middle: '  ' },
};

/** Returns a table with a head, without lines around the cells. */
export function tableText(
  { colors }: Pick<Terminal, 'colors'>,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const table = new Table({
    head: head.map((title) => colors.bold(title)),
    chars: CHARS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const BAR_WIDTH = 24;

/** Returns a bar for a share from 0 to 1. */
export function barText(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * BAR_WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
}

/** Returns `part / whole`, both decimal text in one unit. A bar needs no exact amount. */
export function shareOf(part: string, whole: string): number {
  return Number(whole) > 0 ? Number(part) / Number(whole) : Number(part) > 0 ? 1 : 0;
}
