import { memoryJournal, receiptOf, SOLANA_MAINNET, type Attempt, type Journal } from 'exact-change';
import { expect } from 'vitest';
import { failureOf } from '../../helpers/payer.js';
import { afterSettling, decided, expectSpent, onPaid, payerSignatureOf, receiptsOf, told } from './after-paying.js';
import { answer } from './front.js';
import { row } from './row.js';
import { bought, refused } from './told.js';
import { TIMEOUTS, worldsOfFile, type Buyer, type World } from './world.js';

const worlds = worldsOfFile();

/** A journal whose writes of attempts are done otherwise. */
function writing(put: (attempt: Attempt, inner: Journal) => Promise<void>): Journal {
  const inner = memoryJournal();
  return { ...inner, put: (attempt) => put(attempt, inner) };
}

const isAnswered = ({ receipt }: Attempt) => receipt?.timings['answered'] !== undefined;

async function attemptsOf({ journal, address }: Buyer): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of journal.attempts({ wallet: address, network: SOLANA_MAINNET })) attempts.push(attempt);
  return attempts;
}

const journalLimit = { timeouts: { ...TIMEOUTS, journal: 300 } };

row(worlds, '16', {
  'kill -9': async () => {},
  timeout: async (world) => {
    for (const failing of ['hangs', 'fails'] as const) {
      let broken = true;
      const journal = writing((attempt, inner) => {
        if (!broken || !isAnswered(attempt)) return inner.put(attempt);
        return failing === 'fails' ? Promise.reject(new Error('ENOSPC')) : new Promise(() => undefined);
      });
      const buyer = await world.buyer({ USDC: '1' }, { ...journalLimit, journal });
      const response = await bought(world.buy(buyer, failing));
      await expect(response.json()).resolves.toMatchObject({ ok: true });
      await told(buyer, 'warning');
      expect(await attemptsOf(buyer)).toMatchObject([{ state: 'signed', delivered: false }]);
      broken = false;
      expect((await decided(response)).state).toBe('settled');
      expect(await attemptsOf(buyer)).toMatchObject([{ state: 'settled', delivered: true, receipt: { settlement: { success: true } } }]);
    }
  },
  malformed: async (world) => {
    await damagedWhileOpen(world);
  },
  expired: async (world) => {
    const buyer = await world.buyer();
    let settle = (): void => undefined;
    const allowed = new Promise<void>((resolve) => (settle = resolve));
    // Answered before it is settled, and settled when nobody waits any more.
    const front = await world.front(
      onPaid((exchange) => {
        void allowed.then(() => exchange.pass());
        return answer(500, 'later');
      }),
    );
    const response = await world.buy(buyer, 'a', { base: front.url });
    expect([response.status, receiptOf(response)?.state]).toEqual([500, 'uncertain']);
    expect(await receiptsOf(buyer)).toMatchObject([{ state: 'uncertain' }]);
    settle();
    const receipt = await decided(response);
    expect(receipt.state).toBe('settled');
    expect(await receiptsOf(buyer)).toEqual([receipt]);
    await expectSpent(world, buyer, 'a', { base: front.url }, payerSignatureOf(response));
  },
  duplicate: async (world) => {
    // A write whose answer is lost is made again.
    const journal = writing(async (attempt, inner) => {
      await inner.put(attempt);
      await inner.put(attempt);
    });
    const buyer = await world.buyer({ USDC: '1' }, { journal });
    const response = await bought(world.buy(buyer, 'a'));
    const others = [buyer.sound(), buyer.sound()];
    await Promise.all([buyer.client, ...others].map((client) => client.resume()));
    const receipt = await decided(response);
    await Promise.all([buyer.client, ...others].map((client) => client.resume()));
    expect(await attemptsOf(buyer)).toHaveLength(1);
    for (const client of [buyer.client, ...others]) {
      const receipts = [];
      for await (const one of client.receipts()) receipts.push(one);
      expect(receipts).toEqual([receipt]);
      expect((await client.spent())[0]?.used).toBe('0.01');
    }
  },
  concurrent: async (world) => {
    // The record of an answer that comes after the chain's word must not undo it.
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let late: Promise<void> | undefined;
    const journal = writing((attempt, inner) => {
      if (attempt.state !== 'signed' || !isAnswered(attempt)) return inner.put(attempt);
      return (late = released.then(() => inner.put(attempt)));
    });
    const buyer = await world.buyer({ USDC: '1' }, { ...journalLimit, journal });
    const response = await bought(world.buy(buyer, 'a'));
    expect((await decided(response)).state).toBe('settled');
    const before = await attemptsOf(buyer);
    release();
    await late;
    expect(late).toBeDefined();
    expect(await attemptsOf(buyer)).toEqual(before);
    expect(before).toMatchObject([{ state: 'settled', delivered: true, receipt: { state: 'settled' } }]);

    // Many clients of one wallet write at once.
    const many = await world.buyer();
    const clients = [many.client, many.sound(), many.sound()];
    const names = ['b', 'c', 'd', 'e', 'f', 'g'];
    const answers = await Promise.all(
      names.map((name, index) => {
        const client = clients[index % clients.length];
        return bought(world.buy(many, name, client === undefined ? {} : { client }));
      }),
    );
    const receipts = await Promise.all(answers.map(decided));
    expect((await receiptsOf(many)).map(({ id }) => id).sort()).toEqual(receipts.map(({ id }) => id).sort());
    expect((await many.client.spent())[0]?.used).toBe('0.06');
  },
});

/** A journal that turns out to be damaged between two purchases: nothing more is signed, and what it held is not lost. */
async function damagedWhileOpen(world: World): Promise<void> {
  const inner = memoryJournal();
  let damaged = false;
  const fail = () => Promise.reject(new Error('line 3 is no attempt'));
  const journal: Journal = {
    ...inner,
    reserve: (attempt, caps) => (damaged ? fail() : inner.reserve(attempt, caps)),
    put: (attempt) => (damaged ? fail() : inner.put(attempt)),
    similar: (owner, fingerprint, key) => (damaged ? fail() : inner.similar(owner, fingerprint, key)),
    used: (owner, caps, now) => (damaged ? fail() : inner.used(owner, caps, now)),
  };
  const buyer = await world.buyer({ USDC: '1' }, { journal });
  const front = await world.front(onPaid(afterSettling(() => 'cut')));
  const lost = await failureOf(world.buy(buyer, 'a', { base: front.url }), 'payment_uncertain');
  damaged = true;
  for (const purchase of ['a', 'b']) {
    const error = await refused(buyer, world.buy(buyer, purchase, { base: front.url }), 'journal_unavailable');
    expect(error).toMatchObject({ name: 'TransportError', retry: 'fresh' });
  }
  damaged = false;
  await expectSpent(world, buyer, 'a', { base: front.url }, payerSignatureOf(lost));
}
