import { formatReceipt, type Client, type Receipt } from 'exact-change';
import { withClient } from '../client.js';
import { failureReport } from '../failure.js';
import { createProgress } from '../progress.js';
import type { Command, Report } from '../report.js';

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
    return resumed(client, flags.wait ?? true).finally(() => progress.end());
  });

/** How often the chain and the journal are asked if nothing is heard: another command may decide. */
const LOOK_MS = 3_000;
/** Age from which no payment is waited for, because no node may remember it. */
const FORGOTTEN_MS = 24 * 60 * 60_000;

const UNCERTAIN = { exit: 'uncertain', funds: 'uncertain' } as const;

type Payments = Pick<Client, 'on' | 'resume' | 'receipts'>;

/**
 * Reports the receipts that changed, and those that are open. If `waits`, it resolves once no
 * payment of the last day is open. A payment is decided when it expires, at the latest. Only the
 * first look at the chain may fail: a node that fails later may answer the next look.
 */
export async function resumed(client: Payments, waits: boolean): Promise<Report> {
  let onDecision = (): void => undefined;
  for (const name of ['payment.settled', 'payment.unsettled'] as const)
    client.on(name, () => onDecision());
  const changed = await client.resume();
  const text = () => changed.map((receipt) => formatReceipt(receipt)).join('\n\n');
  const isAwaited = ({ at }: Receipt) => at > Date.now() - FORGOTTEN_MS;
  try {
    let open = await openReceipts(client);
    while (waits && open.some(isAwaited)) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LOOK_MS);
        onDecision = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      changed.push(...(await client.resume().catch(() => [])));
      open = await openReceipts(client);
    }
    const mayLand = open.length > 0 || changed.some(({ state }) => state === 'abandoned');
    return {
      ...(mayLand ? UNCERTAIN : {}),
      ...{ json: { changed, open }, text: text() },
      notes: [
        ...(changed.length === 0 && open.length === 0 ? ['No payment is open.'] : []),
        ...open.map((receipt) => `Still open: ${formatReceipt(receipt)}`),
      ],
    };
  } catch (error) {
    // The journal failed. What it holds may still land, and only this call can tell what changed.
    const { json, notes } = failureReport(error, true);
    return { ...UNCERTAIN, json: { changed, ...json }, text: text(), ...(notes && { notes }) };
  }
}

async function openReceipts(client: Payments): Promise<Receipt[]> {
  const open: Receipt[] = [];
  for (const state of ['pending', 'uncertain'] as const)
    for await (const receipt of client.receipts({ state })) open.push(receipt);
  return open;
}
