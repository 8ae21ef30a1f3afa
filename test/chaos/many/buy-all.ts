import { isExactChangeError, type Client } from 'exact-change';

/** What became of one purchase, whose caller does not give up easily. */
export type Bought = 'answered' | 'spent' | 'refused' | 'uncertain';

// A call fails if any of its messages does, and while the machine is busy also by a timeout.
const TRIES = 40;

/**
 * Buys each address once, all at the same time; each caller calls again after an error, as a
 * wrapper around fetch would.
 */
export async function buyAll(client: Client, urls: readonly string[]): Promise<Bought[]> {
  return Promise.all(urls.map((url) => buy(client, url)));
}

async function buy(client: Client, url: string): Promise<Bought> {
  let last: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const response = await client.fetch(url);
      const text = await response.text();
      // A 503 after the payment was presented is no answer to this caller; another 402 never gets
      // here.
      if (response.status === 200 && text !== '') return 'answered';
      last ??= new Error(`status ${response.status}`);
    } catch (error) {
      // What became of the money is what the client said last: a lost message says nothing of it.
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

export function count(all: readonly Bought[], what: Bought): number {
  return all.filter((one) => one === what).length;
}
