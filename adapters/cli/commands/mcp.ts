import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { parseUiAmount } from 'exact-change';
import { refuse } from '../../../src/internal/options.js';
import { cleanLine } from '../clean.js';
import { withClient } from '../client.js';
import { createApprovals } from '../mcp/approval.js';
import { createMcp } from '../mcp/server.js';
import type { Command } from '../report.js';

export interface McpFlags {
  readonly askAbove: string;
  readonly allowPrivate?: boolean;
}

/** Serves the tools to a model's host, on standard input and output, until the host ends it. */
export const mcpCommand: Command<McpFlags> = (invocation) => {
  const { terminal, flags } = invocation;
  const { askAbove, allowPrivate: privateHosts = false } = flags;
  if (parseUiAmount(askAbove, 6) === undefined)
    throw refuse('--ask-above', 'must be dollars such as 0.10.');
  const approvals = createApprovals(askAbove);
  return withClient(
    invocation,
    async ({ client, wallet, network }) => {
      // Unlock now: once the server runs, the host cannot show a question for the passphrase.
      await wallet.unlock();
      client.on('payment.signed', approvals.onPaymentSigned);
      const onerror = (error: Error): void =>
        terminal.say(`exact-change: ${cleanLine(error.message)}`);
      const ended = new Promise<void>((resolve) => {
        // The transport pauses its input when it closes, as after a message that is too long.
        for (const name of ['close', 'end', 'pause']) terminal.stdin.once(name, resolve);
        process.once('SIGINT', resolve).once('SIGTERM', resolve);
      });
      const serving = serveStdio(createMcp({ client, approvals, network, privateHosts }), {
        onerror,
      });
      await ended;
      await serving.close();
      return {};
    },
    () => ({ policy: { approve: approvals.approve } }),
  );
};
