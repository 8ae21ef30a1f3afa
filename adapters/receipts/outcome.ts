import type { Client } from '../../src/client.js';
import { deliveryOf } from '../../src/journal/delivery.js';
import type { Funds } from '../../src/errors.js';
import { bounded } from '../../src/internal/abort.js';
import { DAY_MS } from '../../src/policy/periods.js';
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

/** What an earlier call to the same address left, if its payment is not over. */
export type Earlier = 'uncertain' | 'spent';

/** Sentences for a call that failed without a payment after such an {@link Earlier} call. */
export const EARLIER_TEXT: Readonly<Record<Earlier, string>> = {
  uncertain: 'This call paid nothing, but the payment of an earlier call to it may still land.',
  spent:
    'This call paid nothing, but an earlier payment for it landed, and no whole answer of success to it is on record.',
};

/**
 * Returns what became of the payments of calls with the method to the URL in the last day: whether
 * one is open, or one landed and no whole answer of success to it came. It is asked about a call
 * that failed without a payment: an agent that only reads that nothing was paid may buy elsewhere.
 * A later purchase with an answer changes nothing, because its body may have been another.
 * Undefined if there is no such payment, or if the journal cannot be read.
 */
export async function earlierPayment(
  client: Pick<Client, 'receipts'>,
  url: string,
  method: string,
): Promise<Earlier | undefined> {
  const callOf = (of: Pick<Receipt, 'url' | 'method'>) =>
    `${of.method.toUpperCase()} ${new URL(of.url).href.replace(/#.*/s, '')}`;
  let found: Earlier | undefined;
  try {
    const call = callOf({ url, method });
    const { host } = new URL(url);
    for await (const receipt of client.receipts({ host, since: Date.now() - DAY_MS })) {
      if (callOf(receipt) !== call) continue;
      if (['pending', 'uncertain'].includes(receipt.state)) return 'uncertain';
      if (receipt.state === 'settled' && deliveryOf(receipt) === false) found = 'spent';
    }
  } catch {
    return undefined;
  }
  return found;
}

/** Returns what happened to the money, by the state that the chain has shown. */
export function fundsOf(receipt: Receipt | undefined): Funds {
  if (receipt === undefined) return 'untouched';
  if (receipt.state === 'settled') return 'spent';
  if (receipt.state !== 'unsettled') return 'uncertain';
  return receipt.swap === undefined ? 'untouched' : 'swapped';
}
