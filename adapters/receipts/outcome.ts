import type { Funds } from '../../src/errors.js';
import { bounded } from '../../src/internal/abort.js';
import { receiptOf, settled, type Receipt } from '../../src/receipt.js';

/** How long the chain is waited for after an answer. What it has not decided then stays open. */
const SETTLE_MS = 5_000;

/** The receipt of an answer once the chain has decided, or as it stands after a while. */
export async function settledSoon(
  response: Response,
  signal?: AbortSignal,
): Promise<Receipt | undefined> {
  const late = () => new Error('The chain has not decided yet.');
  const decided = bounded(SETTLE_MS, late, [signal], (until) =>
    settled(response, { signal: until }),
  );
  return decided.catch(() => receiptOf(response));
}

/** What happened to the money, by what the chain has shown of a payment. */
export function fundsOf(receipt: Receipt | undefined): Funds {
  if (receipt === undefined) return 'untouched';
  if (receipt.state === 'settled') return 'spent';
  if (receipt.state !== 'unsettled') return 'uncertain';
  return receipt.swap === undefined ? 'untouched' : 'swapped';
}
