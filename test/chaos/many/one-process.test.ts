import { createClient, memoryJournal, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { buyAll } from './buy-all.js';
import { faultyFetch } from './faulty-fetch.js';
import { CAP, settleMany, startMany } from './many.js';
import { useSandbox } from '../../helpers/sandbox.js';

const sandbox = await useSandbox({ seed: 'many in one process' });

/** Wraps a journal so that it reads the cap after each write, and misses no excess in between. */
function observed(
  journal: Journal,
  owner: Parameters<Journal['used']>[0],
): { readonly journal: Journal; readonly largest: () => bigint } {
  let largest = 0n;
  const watched =
    <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await write(...args);
      const [used = 0n] = await journal.used(owner, [CAP], Date.now());
      if (used > largest) largest = used;
      return result;
    };
  return {
    largest: () => largest,
    journal: {
      ...journal,
      reserve: watched(journal.reserve),
      raise: watched(journal.raise),
      put: watched(journal.put),
    },
  };
}

describe('a thousand parallel paid calls in a process that loses a tenth of its messages', () => {
  it(
    'pay at most once each, stay within the cap, and agree in all books to the base unit',
    { timeout: 900_000 },
    async () => {
      const many = await startMany(sandbox);
      const { journal, largest } = observed(memoryJournal(), many.owner);
      const options = { ...many.options, journal };
      const client = createClient({ ...options, fetch: faultyFetch(20_261_121) });
      const bought = await buyAll(client, many.urls);

      // After the warp open payments can only expire; a client without faults then decides them.
      sandbox.controls.node.warp();
      await client.close();
      const sound = createClient(options);
      const total = await settleMany(sandbox, many, sound, journal, bought);
      // The merchant pays nothing back, so its final balance is its largest.
      expect([await many.paid(), largest() <= CAP.limit]).toEqual([total, true]);
      await sound.close();
    },
  );
});
