import type { CapUse } from 'exact-change';
import { withClient } from '../client.js';
import type { Command } from '../report.js';
import { barText, shareOf, tableText } from '../table.js';
import type { Terminal } from '../terminal.js';

const NEARLY = 0.8;

/** Shows each cap over time, and how much of it is used. */
export const budgetCommand: Command<object> = (invocation) =>
  withClient(invocation, async ({ client }) => {
    const caps = await client.spent();
    return { json: { caps }, text: capsTable(invocation.terminal, caps) };
  });

function capsTable(terminal: Terminal, caps: readonly CapUse[]): string {
  const { colors } = terminal;
  const rows = caps.map(({ cap, host, payee, used, limit, unit }) => {
    const share = shareOf(used, limit);
    const paint = share >= 1 ? colors.red : share >= NEARLY ? colors.yellow : colors.green;
    return [cap, host ?? payee ?? '', paint(barText(share)), `${used} of ${limit} ${unit}`];
  });
  return tableText(terminal, ['cap', '', 'used', ''], rows);
}
