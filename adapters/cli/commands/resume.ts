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
    const mayLand = open.length > 0 || changed.some(({ state }) => state === 'abandoned');
    return {
      ...(!mayLand ? {} : { exit: 'uncertain' as const, funds: 'uncertain' as const }),
      json: { changed, open },
      text: changed.map((receipt) => formatReceipt(receipt)).join('\n\n'),
      notes: [
        ...(changed.length === 0 && open.length === 0 ? ['No payment is open.'] : []),
        ...open.map((receipt) => `Still open: ${formatReceipt(receipt)}`),
      ],
    };
  });

/** How often the chain and the journal are asked if nothing is heard: another command may decide. */
const LOOK_MS = 3_000;
/** Age from which no payment is waited for, because no node may remember it. */
const FORGOTTEN_MS = 24 * 60 * 60_000;

type Payments = Pick<Client, 'on' | 'resume' | 'receipts'>;

/**
 * Returns the receipts that changed. If `waits`, it resolves once no payment of the last day is
 * open. A payment is decided when it expires, at the latest. Only the first look at the chain may
 * fail: a node that fails later may answer the next look.
 */
export async function resumed(
  client: Payments,
  waits: boolean,
): Promise<(Receipt | FreedReceipt)[]> {
  let onDecision = (): void => undefined;
  for (const name of ['payment.settled', 'payment.unsettled'] as const)
    client.on(name, () => onDecision());
  const changed = await client.resume();
  const isAwaited = ({ at }: Receipt) => at > Date.now() - FORGOTTEN_MS;
  while (waits && (await openReceipts(client)).some(isAwaited)) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      onDecision = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    changed.push(...(await client.resume().catch(() => [])));
  }
  return changed;
}

async function openReceipts(client: Payments): Promise<Receipt[]> {
  const open: Receipt[] = [];
  for (const state of ['pending', 'uncertain'] as const)
    for await (const receipt of client.receipts({ state })) open.push(receipt);
  return open;
}
