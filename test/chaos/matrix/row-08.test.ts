import { memoryJournal, type Attempt } from 'exact-change';
import { expect } from 'vitest';
import { landed } from '../../helpers/chain.js';
import { failureOf } from '../../helpers/payer.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { together } from './together.js';
import { bought, signedBy } from './told.js';
import { attemptsOf, worldsOfFile } from './world.js';

row(worldsOfFile(), '8', {
  'kill -9': async (world) => {
    const unsigned = await killed(world, 'a', { at: 'before signing swap' });
    await bought(world.buy(unsigned, 'a'));
    expect(signedBy(unsigned)).toEqual(['swap', 'payment']);
    // Only the swap of the killed process lands.
    const signed = await killed(world, 'b', { at: 'after writing swap' });
    const [attempt] = await attemptsOf(signed);
    const signature = attempt?.swap?.signature ?? '';
    // A call that sends this swap and then fails must report it as moved.
    const refuse = {
      address: signed.address,
      signMessage: () => Promise.reject(new Error('denied on the device')),
    };
    const client = signed.again({ ...signed.options, signer: refuse });
    const error = await failureOf(world.buy(signed, 'b', { client }), 'signing_failed');
    expect(error).toMatchObject({ funds: 'swapped', moved: [{ kind: 'swap', signature }] });
    await bought(world.buy(signed, 'b'));
    expect(signedBy(signed)).toEqual(['payment']);
    expect((await landed(world.sandbox.rpcUrl, signature)).error).toBeNull();
  },
  '5xx': async (world, { node }) => {
    for (const [purchase, writes] of [
      ['a', false],
      ['b', true],
    ] as const) {
      const journal = memoryJournal();
      let full = true;
      const put: typeof journal.put = async (attempt) => {
        if (writes || !full) await journal.put(attempt);
        if (full) throw new Error('ENOSPC');
      };
      const buyer = await world.swapper({ journal: { ...journal, put } });
      node.resetCalls();
      const error = await failureOf(world.buy(buyer, purchase), 'journal_unavailable');
      expect(error).toMatchObject({ funds: 'untouched', moved: [], retry: 'fresh' });
      // The swap is signed and never sent.
      expect([signedBy(buyer), node.calls({ method: 'sendTransaction' })]).toEqual([['swap'], 0]);
      full = false;
      await bought(world.buy(buyer, purchase));
    }
  },
  malformed: async (world, { node }) => {
    const buyer = await world.swapper();
    node.resetCalls();
    const wrong = {
      address: buyer.address,
      signMessage: () => Promise.resolve(new Uint8Array(64).fill(7)),
    };
    const client = buyer.again({ ...buyer.options, signer: wrong });
    const error = await failureOf(world.buy(buyer, 'a', { client }), 'signing_failed');
    expect(error).toMatchObject({ funds: 'untouched', moved: [], retry: 'never' });
    expect(node.calls({ method: 'sendTransaction' })).toBe(0);
  },
  duplicate: async (world) => {
    const { sandbox } = world;
    const written: string[] = [];
    const journal = memoryJournal();
    const put = (attempt: Attempt) => {
      if (attempt.swap !== undefined) written.push(attempt.swap.transaction);
      return journal.put(attempt);
    };
    const sent: unknown[] = [];
    sandbox.controls.node.intercept = (method, params, next) => {
      if (method === 'sendTransaction') sent.push((params as unknown[])[0]);
      return next();
    };
    const buyer = await world.swapper({ journal: { ...journal, put } });
    await bought(world.buy(buyer, 'a'));
    expect(new Set(written).size).toBe(1);
    // The client's swap is first; the facilitator's settlement follows.
    expect(sent[0]).toBe(written[0]);
    expect(sent.filter((transaction) => transaction === written[0]).length).toBeGreaterThan(0);
    const signature =
      buyer.events.flatMap((event) => (event.type === 'swap.signed' ? [event.signature] : []))[0] ??
      '';
    expect((await landed(sandbox.rpcUrl, signature)).error).toBeNull();
  },
  concurrent: async (world) => {
    const buyer = await world.swapper();
    const front = await together(world, 3);
    await Promise.all(
      ['a', 'b', 'c'].map((purchase) => bought(world.buy(buyer, purchase, { base: front.url }))),
    );
    expect(signedBy(buyer)).toEqual(['swap', 'payment', 'payment', 'payment']);
  },
});
