import { createClient, memoryJournal, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { buyAll } from './buy-all.js';
import { faultyFetch } from './faulty-fetch.js';
import { CAP, settleMany, startMany } from './many.js';
import { useSandbox } from '../../helpers/sandbox.js';

const sandbox = await useSandbox({ seed: 'many in one process' });

/**
 * The same journal, whose caps are looked at after each write: no later look can miss what was over
 * in between.
 */
function observed(
  journal: Journal,
  owner: Parameters<Journal['used']>[0],
): { readonly journal: Journal; readonly largest: () => bigint } {
  let largest = 0n;
  const looking =
    <Given extends readonly unknown[], Result>(write: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      const result = await write(...given);
      const [used = 0n] = await journal.used(owner, [CAP], Date.now());
      if (used > largest) largest = used;
      return result;
    };
  return {
    largest: () => largest,
    journal: {
      ...journal,
      reserve: looking(journal.reserve),
      raise: looking(journal.raise),
      put: looking(journal.put),
    },
  };
}

describe('a thousand paid calls at once in one process, of which one in ten messages fails', () => {
  it(
    'pay for each at most once, never over the cap, and all books agree to the base unit',
    { timeout: 900_000 },
    async () => {
      const many = await startMany(sandbox);
      const { journal, largest } = observed(memoryJournal(), many.owner);
      const options = { ...many.options, journal };
      const client = createClient({ ...options, fetch: faultyFetch(20_261_121) });
      const bought = await buyAll(client, many.urls);

      // What is still open can only expire now; then a client without faults finds out.
      sandbox.controls.node.warp();
      await client.close();
      const sound = createClient(options);
      const all = await settleMany(sandbox, many, sound, journal, bought);
      // The merchant pays nothing back: what it has in the end is the most that it had.
      expect([await many.paid(), largest() <= CAP.limit]).toEqual([all, true]);
      await sound.close();
    },
  );
});
