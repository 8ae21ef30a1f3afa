import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, receiptOf, type Attempt, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { expect } from 'vitest';
import { until } from '../../helpers/chain.js';
import { decided } from '../../helpers/flow.js';
import { failureOf } from '../../helpers/payer.js';
import { expectUnread } from '../../helpers/untouched.js';
import { afterSettling, expectSpent, onPaid, receiptsOf, told } from './after-paying.js';
import { answer } from './front.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought, signedBy } from './told.js';
import { attemptsOf, hasty, worldsOfFile, type World } from './world.js';

const worlds = worldsOfFile();

/** Makes a journal in memory that writes attempts through `put`. */
function writing(put: (attempt: Attempt, inner: Journal) => Promise<void>): Journal {
  const inner = memoryJournal();
  return { ...inner, put: (attempt) => put(attempt, inner) };
}

const isAnswered = ({ receipt }: Attempt) => receipt?.timings['answered'] !== undefined;

row(worlds, '16', {
  'kill -9': async (world) => {
    for (const at of ['before writing settled', 'after writing settled'] as const) {
      const init = { idempotencyKey: `order ${at}` };
      const buyer = await killed(world, at, { funds: { USDC: '1' }, init, at });
      const [attempt] = await attemptsOf(buyer);
      expect(attempt?.state).toBe(at === 'before writing settled' ? 'signed' : 'settled');
      await until('the settlement is written', async () => {
        await buyer.client.resume();
        return (await attemptsOf(buyer))[0]?.state === 'settled' ? true : undefined;
      });
      expect(await receiptsOf(buyer)).toMatchObject([
        { id: attempt?.id, state: 'settled', settlement: { success: true } },
      ]);
      expect((await buyer.client.spent())[0]?.used).toBe('0.01');
      await expectSpent(world, buyer, at, init, attempt);
    }
  },
  timeout: async (world) => {
    for (const failing of ['hangs', 'fails'] as const) {
      let broken = true;
      const journal = writing((attempt, inner) => {
        if (!broken || !isAnswered(attempt)) return inner.put(attempt);
        return failing === 'fails'
          ? Promise.reject(new Error('ENOSPC'))
          : new Promise(() => undefined);
      });
      const buyer = await world.buyer({ USDC: '1' }, { ...hasty('journal'), journal });
      const response = await bought(world.buy(buyer, failing));
      await expect(response.json()).resolves.toMatchObject({ ok: true });
      await told(buyer, 'warning');
      expect(await attemptsOf(buyer)).toMatchObject([{ state: 'signed', delivered: false }]);
      broken = false;
      expect((await decided(response)).state).toBe('settled');
      expect(await attemptsOf(buyer)).toMatchObject([
        { state: 'settled', delivered: true, receipt: { settlement: { success: true } } },
      ]);
    }
  },
  malformed: async (world) => {
    await damagedWhileOpen(world);
    await damagedOnDisk(world);
  },
  expired: async (world) => {
    const buyer = await world.buyer();
    let settle = (): void => undefined;
    const allowed = new Promise<void>((resolve) => (settle = resolve));
    // The seller answers before it settles, and settles when no caller waits any more.
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
    await expectSpent(world, buyer, 'a', { base: front.url }, response);
  },
  duplicate: async (world) => {
    // Every write is repeated, as after a lost answer.
    const journal = writing(async (attempt, inner) => {
      await inner.put(attempt);
      await inner.put(attempt);
    });
    const buyer = await world.buyer({ USDC: '1' }, { journal });
    const response = await bought(world.buy(buyer, 'a'));
    const clients = [buyer.client, buyer.sound(), buyer.sound()];
    await Promise.all(clients.map((client) => client.resume()));
    const receipt = await decided(response);
    await Promise.all(clients.map((client) => client.resume()));
    expect(await attemptsOf(buyer)).toHaveLength(1);
    for (const client of clients) {
      const receipts = [];
      for await (const listed of client.receipts()) receipts.push(listed);
      expect(receipts).toEqual([receipt]);
      expect((await client.spent())[0]?.used).toBe('0.01');
    }
  },
  concurrent: async (world) => {
    // A late record of the answer must not undo the chain's decision.
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let late: Promise<void> | undefined;
    const journal = writing((attempt, inner) => {
      if (attempt.state !== 'signed' || !isAnswered(attempt)) return inner.put(attempt);
      return (late = released.then(() => inner.put(attempt)));
    });
    const buyer = await world.buyer({ USDC: '1' }, { ...hasty('journal'), journal });
    const response = await bought(world.buy(buyer, 'a'));
    await response.text();
    expect((await decided(response)).state).toBe('settled');
    const before = await attemptsOf(buyer);
    release();
    await late;
    expect(late).toBeDefined();
    expect(await attemptsOf(buyer)).toEqual(before);
    expect(before).toMatchObject([
      { state: 'settled', delivered: true, receipt: { state: 'settled' } },
    ]);

    // Three clients of a wallet write at once.
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
    expect((await receiptsOf(many)).map(({ id }) => id).sort()).toEqual(
      receipts.map(({ id }) => id).sort(),
    );
    expect((await many.client.spent())[0]?.used).toBe('0.06');
  },
});

/**
 * Damages a journal between two purchases. Expects no further signature, and the first attempt
 * after the repair.
 */
async function damagedWhileOpen(world: World): Promise<void> {
  const inner = memoryJournal();
  let damaged = false;
  const fail = () => Promise.reject(new Error('line 3 is no attempt'));
  const journal: Journal = {
    ...inner,
    reserve: (attempt, caps) => (damaged ? fail() : inner.reserve(attempt, caps)),
    put: (attempt) => (damaged ? fail() : inner.put(attempt)),
    similar: (owner, fingerprint, key) =>
      damaged ? fail() : inner.similar(owner, fingerprint, key),
    used: (owner, caps, now) => (damaged ? fail() : inner.used(owner, caps, now)),
  };
  const buyer = await world.buyer({ USDC: '1' }, { journal });
  const front = await world.front(onPaid(afterSettling(() => 'cut')));
  const lost = await failureOf(world.buy(buyer, 'a', { base: front.url }), 'payment_uncertain');
  damaged = true;
  for (const purchase of ['a', 'b']) {
    expectUnread(await failureOf(world.buy(buyer, purchase, { base: front.url })));
  }
  expect(signedBy(buyer)).toEqual(['payment']);
  damaged = false;
  await expectSpent(world, buyer, 'a', { base: front.url }, lost);
}

/** Changes a byte in the middle of a journal file while no process has it open. */
async function damagedOnDisk(world: World): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-matrix-'));
  world.onClose(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'payments.jsonl');
  const { journal, reopen, close } = reopening(path);
  world.onClose(close);
  const buyer = await world.buyer({ USDC: '1' }, { journal });
  const front = await world.front(onPaid(afterSettling(() => 'cut')));
  const lost = await failureOf(world.buy(buyer, 'c', { base: front.url }), 'payment_uncertain');
  await told(buyer, 'payment.settled');

  await reopen();
  const good = await readFile(path);
  const middle = Math.floor(good.length / 2);
  await writeFile(
    path,
    Uint8Array.from(good, (byte, index) => (index === middle ? byte ^ 1 : byte)),
  );
  for (const purchase of ['c', 'd']) {
    const { length } = buyer.signed;
    const error = await failureOf(
      world.buy(buyer, purchase, { base: front.url }),
      'journal_damaged',
    );
    expect(error).toMatchObject({ name: 'TransportError', retry: 'never', details: { path } });
    // A payment is on record, and the record cannot be read.
    expect([error.funds, buyer.signed.length]).toEqual(['uncertain', length]);
  }
  expect(await readFile(path)).not.toEqual(good);
  await writeFile(path, good);
  await expectSpent(world, buyer, 'c', { base: front.url }, lost);
}

/** Makes a file journal that can be reopened behind the same client, as a new process does. */
function reopening(path: string) {
  let file = fileJournal(path);
  const journal: Journal = {
    reserve: (...args) => file.reserve(...args),
    put: (...args) => file.put(...args),
    raise: (...args) => file.raise(...args),
    release: (...args) => file.release(...args),
    similar: (...args) => file.similar(...args),
    attempts: (...args) => file.attempts(...args),
    used: (...args) => file.used(...args),
  };
  const close = () => file.close();
  const reopen = async () => {
    await close();
    file = fileJournal(path);
  };
  return { journal, reopen, close };
}
