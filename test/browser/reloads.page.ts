import { createClient, isExactChangeError, type ClientOptions } from 'exact-change';
import { indexedDbJournal } from 'exact-change/journal/indexeddb';

let client: ReturnType<typeof createClient>;

/** A buyer in a page; a purchase that a reload cut off is repeated with the same key. */
const exposed = {
  open(seed: readonly number[], options: Omit<ClientOptions, 'signer'>): string {
    const journal = indexedDbJournal();
    client = createClient({
      ...options,
      walletSeed: Uint8Array.from(seed),
      autoSwap: true,
      journal,
    });
    return client.address;
  },
  /** Repeats the call until it has an answer, or the client reports that it was paid. */
  async buy(url: string, idempotencyKey: string): Promise<number | string> {
    for (;;) {
      try {
        const response = await client.fetch(url, { idempotencyKey });
        await response.text();
        return response.status;
      } catch (error) {
        if (isExactChangeError(error, 'already_spent')) return error.code;
        if (!isExactChangeError(error) || error.retry === 'never') throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  },
  /** Returns the number of payments that the chain has not decided. */
  async undecided(): Promise<number> {
    await client.resume();
    let count = 0;
    for await (const { state } of client.receipts())
      if (state === 'pending' || state === 'uncertain') count += 1;
    return count;
  },
};

declare global {
  var buyer: typeof exposed;
}

globalThis.buyer = exposed;
