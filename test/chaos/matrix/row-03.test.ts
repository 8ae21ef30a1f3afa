import { memoryJournal } from 'exact-change';
import { expect } from 'vitest';
import { failureOf } from '../../helpers/payer.js';
import { expectUnread } from '../../helpers/untouched.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { rivals } from './together.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, worldsOfFile } from './world.js';

const never = new Promise<never>(() => {});

row(worldsOfFile(), '3', {
  'kill -9': async (world) => {
    // The cap allows this purchase and the purchase of the comparison, if nothing else counts.
    const options = { policy: { maxPerDay: '0.02' } };
    const buyer = await killed(world, 'a', { funds: { USDC: '1' }, options, at: 'after reserve' });
    expect((await attemptsOf(buyer)).map(({ state }) => state)).toEqual(['reserved']);
    expect(await buyer.client.resume()).toMatchObject([
      { state: 'unpaid', cost: { lamports: '0' } },
    ]);
    expect(await attemptsOf(buyer)).toEqual([]);
    await bought(world.buy(buyer, 'a'));
    // The same without resume(), and with an idempotency key.
    const init = { idempotencyKey: 'order 2' };
    const other = await killed(world, 'b', {
      funds: { USDC: '1' },
      options,
      init,
      at: 'after reserve',
    });
    await bought(world.buy(other, 'b', init));
  },
  timeout: async (world) => {
    for (const step of ['similar', 'reserve', 'reserve, after it was written'] as const) {
      const journal = memoryJournal();
      let deaf = true;
      const similar: typeof journal.similar = (...args) =>
        deaf && step === 'similar' ? never : journal.similar(...args);
      const reserve: typeof journal.reserve = async (...args) => {
        if (!deaf || step === 'similar') return journal.reserve(...args);
        if (step !== 'reserve') await journal.reserve(...args);
        return never;
      };
      // The cap allows this purchase and the purchase of the comparison, if the failed call counts
      // no more.
      const policy = { maxPerDay: '0.02' };
      const buyer = await world.buyer(
        { USDC: '1' },
        {
          policy,
          journal: { ...journal, similar, reserve },
          ...hasty('journal'),
        },
      );
      const call = world.buy(buyer, step.replace(/\W/g, ''));
      if (step === 'similar') expectUnread(await failureOf(call));
      else {
        const error = await refused(buyer, call, 'journal_unavailable');
        expect(error).toMatchObject({ retry: 'fresh', details: { step: step.split(',')[0] } });
      }
      expect(buyer.signed).toEqual([]);
      deaf = false;
      await bought(world.buy(buyer, step.replace(/\W/g, '')));
    }
  },
  malformed: async (world) => {
    const policy = {
      maxPerPayment: '0.02',
      maxPerDay: '0.03',
      maxAmount: { [world.sandbox.mints.BONK.address]: '1' },
    };
    const buyer = await world.buyer({ USDC: '1', PYUSD: '1', BONK: '5000000' }, { policy });
    const dear = await refused(
      buyer,
      world.buy(buyer, 'dear', { path: '/pyusd' }),
      'amount_over_limit',
    );
    expect(dear.details).toEqual({
      cap: 'maxPerPayment',
      limit: '0.02',
      amount: '0.03',
      unit: 'USD',
    });
    const many = await refused(
      buyer,
      world.buy(buyer, 'many', { path: '/bonk' }),
      'amount_over_limit',
    );
    expect(many.details).toMatchObject({ cap: 'maxAmount', limit: '1', amount: '123456789' });
    await bought(world.buy(buyer, 'a'));
    await bought(world.buy(buyer, 'b'));
    const usdt = await refused(buyer, world.buy(buyer, 'c', { path: '/usdt' }), 'budget_exhausted');
    expect(usdt.details).toMatchObject({ cap: 'maxPerDay', limit: '0.03', used: '0.02' });
  },
  duplicate: async (world) => {
    const buyer = await world.buyer();
    const { front, race } = await rivals(world, 2);
    const init = { idempotencyKey: 'order 1', base: front.url };
    const ended = await race(() => world.buy(buyer, 'a', init));
    expect(ended).toContainEqual(expect.objectContaining({ status: 'fulfilled' }));
    const reason = { code: 'payment_in_progress', funds: 'uncertain', retry: 'same' };
    expect(ended).toContainEqual({ status: 'rejected', reason: expect.objectContaining(reason) });
    const later = await failureOf(world.buy(buyer, 'a', init), 'already_spent');
    expect([later.funds, later.retry]).toEqual(['spent', 'never']);
    await refused(buyer, world.buy(buyer, 'b', init), 'idempotency_mismatch');
    expect(signedBy(buyer)).toEqual(['payment']);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer({ USDC: '1' }, { policy: { maxPerDay: '0.06' } });
    // The comparison needs one of the six payments for its own purchase.
    await bought(world.buy(buyer, 'first'));
    let most = 0;
    const reserve = buyer.journal.reserve.bind(buyer.journal);
    const watched = buyer.again({
      ...buyer.options,
      policy: { maxPerDay: '0.05' },
      journal: {
        ...buyer.journal,
        async reserve(...args) {
          const refusal = await reserve(...args);
          const used = await watched.spent();
          most = Math.max(most, ...used.map((cap) => Number(cap.used)));
          return refusal;
        },
      },
    });
    const calls = Array.from({ length: 20 }, (_, index) =>
      world.buy(buyer, `p${index}`, { client: watched }),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(4);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({
          code: 'budget_exhausted',
          funds: 'untouched',
          details: { limit: '0.05' },
        });
    expect(most).toBe(0.05);
  },
});
