import type { Client } from '../../src/client.js';
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

/** Says that a failed call is open all the same: see {@link isPaymentOpen}. */
export const OPEN_PAYMENT =
  'This call paid nothing, but the payment of an earlier equal call may still land.';

/**
 * Whether the payment of an earlier equal call may still land. It is asked about a call that has
 * failed without a payment: an agent that reads that the funds are untouched may buy elsewhere. A
 * journal that cannot be read may hold such a payment.
 */
export async function isPaymentOpen(
  client: Pick<Client, 'receipts'>,
  url: string,
  method: string,
): Promise<boolean> {
  const callOf = (of: Pick<Receipt, 'url' | 'method'>) =>
    `${of.method.toUpperCase()} ${new URL(of.url).href.replace(/#.*/s, '')}`;
  try {
    for await (const receipt of client.receipts({ state: 'uncertain' }))
      if (callOf(receipt) === callOf({ url, method })) return true;
    return false;
  } catch {
    return true;
  }
}

/** Returns what happened to the money, by the state that the chain has shown. */
export function fundsOf(receipt: Receipt | undefined): Funds {
  if (receipt === undefined) return 'untouched';
  if (receipt.state === 'settled') return 'spent';
  if (receipt.state !== 'unsettled') return 'uncertain';
  return receipt.swap === undefined ? 'untouched' : 'swapped';
}
