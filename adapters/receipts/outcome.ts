import type { Funds } from '../../src/errors.js';
import { bounded } from '../../src/internal/abort.js';
import { receiptOf, settled, type Receipt } from '../../src/receipt.js';

/** Milliseconds to wait for the chain after an answer. An undecided payment then stays open. */
const SETTLE_MS = 5_000;

/** Returns the receipt of an answer once the chain has decided, at the latest after `SETTLE_MS`. */
export async function settledSoon(
  response: Response,
  signal?: AbortSignal,
): Promise<Receipt | undefined> {
  const timeoutError = () => new Error('The chain has not decided yet.');
  const decided = bounded(SETTLE_MS, timeoutError, [signal], (until) =>
    settled(response, { signal: until }),
  );
  return decided.catch(() => receiptOf(response));
}

/** Returns what happened to the money, by the state that the chain has shown. */
export function fundsOf(receipt: Receipt | undefined): Funds {
  if (receipt === undefined) return 'untouched';
  if (receipt.state === 'settled') return 'spent';
  if (receipt.state !== 'unsettled') return 'uncertain';
  return receipt.swap === undefined ? 'untouched' : 'swapped';
}
