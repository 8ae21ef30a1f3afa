import { withClient } from '../client.js';
import type { Command } from '../report.js';
import { tableText } from '../table.js';
import { mintOf } from '../tokens.js';

/** Shows the wallet's balances: of the given tokens, or of all. */
export const balanceCommand: Command<object> = (invocation) =>
  withClient(invocation, async ({ client, network }) => {
    const { terminal, args } = invocation;
    const mints = args.map((text) => mintOf(text, network));
    const balances = await client.balance(mints.length === 0 ? undefined : mints);
    const rows = balances.map(({ uiAmount, symbol, mint }) => [uiAmount, symbol ?? '', mint]);
    return {
      json: { address: client.address, balances },
      text: `${client.address}\n${tableText(terminal, ['amount', 'token', 'mint'], rows)}`,
    };
  });
