import { isExactChangeError, type Client } from 'exact-change';

/** The result of a purchase after all its tries. */
export type Bought = 'answered' | 'spent' | 'refused' | 'uncertain';

// A call fails with any of its messages, and by timeouts on a busy machine.
const TRIES = 40;

/** Buys every URL at the same time; each caller retries after an error, as a fetch wrapper does. */
export async function buyAll(client: Client, urls: readonly string[]): Promise<Bought[]> {
  return Promise.all(urls.map((url) => buy(client, url)));
}

async function buy(client: Client, url: string): Promise<Bought> {
  let last: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const response = await client.fetch(url);
      const text = await response.text();
      // A 503 after the payment is a failure for this caller; the client returns no second 402.
      if (response.status === 200 && text !== '') return 'answered';
      last ??= new Error(`status ${response.status}`);
    } catch (error) {
      // The last error of the client decides; a lost message says nothing about the money.
      if (!isExactChangeError(error)) {
        last ??= error;
        continue;
      }
      last = error;
      if (error.code === 'budget_exhausted') return 'refused';
      if (error.funds === 'spent') return 'spent';
    }
  }
  if (isExactChangeError(last) && last.funds === 'uncertain') return 'uncertain';
  if (isExactChangeError(last) && last.funds === 'untouched') return 'refused';
  throw last;
}

export function count(results: readonly Bought[], wanted: Bought): number {
  return results.filter((result) => result === wanted).length;
}
