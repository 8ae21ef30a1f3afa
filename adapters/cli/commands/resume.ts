import { formatReceipt, type Client, type FreedReceipt, type Receipt } from 'exact-change';
import { withClient } from '../client.js';
import { createProgress } from '../progress.js';
import type { Command } from '../report.js';

export interface ResumeFlags {
  /** `--no-wait`. */
  readonly wait?: boolean;
}

/** Reconciles the open payments of earlier commands with the chain, and waits for decisions. */
export const resumeCommand: Command<ResumeFlags> = (invocation) =>
  withClient(invocation, async ({ client, network }) => {
    const { terminal, flags } = invocation;
    const progress = createProgress(terminal, flags.json === true, network);
    progress.step('asking the chain; a payment that never lands takes a minute or two');
    const changed = await resumed(client, flags.wait ?? true).finally(() => progress.end());
    const open = await openReceipts(client);
    return {
      ...(open.length === 0 ? {} : { exit: 'uncertain' as const, funds: 'uncertain' as const }),
      json: { changed, open },
      text: changed.map((receipt) => formatReceipt(receipt)).join('\n\n'),
      notes: [
        ...(changed.length === 0 && open.length === 0 ? ['Nothing is open.'] : []),
        ...open.map((receipt) => `Still open: ${formatReceipt(receipt)}`),
      ],
    };
  });

/**
 * Returns the receipts that changed. If `waits`, it resolves once no payment is open. A payment is
 * decided when it expires, at the latest.
 */
async function resumed(client: Client, waits: boolean): Promise<(Receipt | FreedReceipt)[]> {
  let onDecision = (): void => undefined;
  // Listen before asking the chain, so that no decision is missed.
  let decision = new Promise<void>((resolve) => (onDecision = resolve));
  for (const name of ['payment.settled', 'payment.unsettled'] as const)
    client.on(name, () => onDecision());
  const changed = await client.resume();
  while (waits && (await openReceipts(client)).length > 0) {
    await decision;
    decision = new Promise<void>((resolve) => (onDecision = resolve));
    changed.push(...(await client.resume()));
  }
  return changed;
}

async function openReceipts(client: Client): Promise<Receipt[]> {
  const open: Receipt[] = [];
  for (const state of ['pending', 'uncertain'] as const)
    for await (const receipt of client.receipts({ state })) open.push(receipt);
  return open;
}
