import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryJournal, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { createWebhooks } from 'exact-change/webhooks';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { until } from '../../helpers/chain.js';
import { decided } from '../../helpers/flow.js';
import { failureOf } from '../../helpers/payer.js';
import { onPaid, payerSignatureOf } from './after-paying.js';
import {
  accept,
  onFirst,
  receiving,
  telling,
  type Meet,
  type Receiver,
  type Telling,
  type Wishes,
} from './receiver.js';
import { row } from './row.js';
import { bought } from './told.js';
import { SHORT_MS, worldsOfFile, type Buyer, type World } from './world.js';

const worlds = worldsOfFile();

interface Told extends Telling {
  readonly buyer: Buyer;
  readonly receiver: Receiver;
}

/** Buys once, and delivers the events of the buyer's journal to a receiver. */
async function toldTo(world: World, meet: Meet, wishes?: Wishes): Promise<Told> {
  const journal = memoryJournal({ outbox: true });
  const buyer = await world.buyer({ USDC: '1' }, { journal });
  const receiver = await receiving(world, meet);
  const told = await telling(world, journal, receiver, wishes);
  await decided(await bought(world.buy(buyer, 'a')));
  return { ...told, buyer, receiver };
}

/** Fails the first message with `first`, and expects the same event again. */
async function toldAgain(world: World, first: Meet, wishes?: Wishes): Promise<Told> {
  const told = await toldTo(world, onFirst(first), wishes);
  const events = await told.receiver.events(told.secret, 2);
  expect(events).toHaveLength(2);
  expect(events[0]).toMatchObject({
    type: 'payment.settled',
    data: { wallet: told.buyer.address },
  });
  expect(events[1]).toEqual(events[0]);
  return told;
}

row(worlds, '17', {
  'kill -9': async (world) => {
    const directory = await mkdtemp(join(tmpdir(), 'exact-change-matrix-'));
    world.onClose(() => rm(directory, { recursive: true, force: true }));
    const path = join(directory, 'payments.jsonl');
    let isDead = false;
    // The receiver answers no message until the sending process has ended.
    const receiver = await receiving(world, (response, before) => {
      if (isDead) accept(response, before);
    });
    const file = join(directory, 'teller.cjs');
    await writeFile(file, await program());
    const child = spawn(process.execPath, [file, JSON.stringify({ path, url: receiver.url })], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {},
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    try {
      await until('the child has sent both messages', () =>
        receiver.received.length >= 2 ? true : undefined,
      );
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
    expect(child.signalCode).toBe('SIGKILL');
    isDead = true;
    const journal = fileJournal(path, { outbox: true });
    world.onClose(() => journal.close());
    const webhooks = createWebhooks({ journal, allowPrivateTargets: true });
    world.onClose(() => webhooks.close());
    webhooks.start();
    const events = await receiver.events(output.trim(), 4);
    const ids = events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids.slice(2).sort()).toEqual(ids.slice(0, 2).sort());
  },
  timeout: async (world) => {
    await toldAgain(world, () => undefined, { timeoutMs: SHORT_MS });
  },
  '429': async (world) => {
    const { receiver } = await toldAgain(
      world,
      (response) => void response.writeHead(429, { 'retry-after': '7' }).end(),
    );
    const [first, second] = receiver.received;
    // Timers may be a millisecond early by the clock.
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(6_990);
  },
  '5xx': async (world) => {
    await toldAgain(world, (response) => void response.writeHead(500).end('later'));
  },
  malformed: async (world) => {
    const { webhooks, id } = await toldAgain(
      world,
      (response) => void response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n'),
    );
    expect(await webhooks.list()).toEqual([
      expect.not.objectContaining({ disabledAt: expect.anything() }),
    ]);

    const gone = await toldTo(world, (response) => void response.writeHead(410).end());
    await until('the endpoint is disabled', async () =>
      (await gone.webhooks.list())[0]?.disabledAt === undefined ? undefined : true,
    );
    await decided(await bought(world.buy(gone.buyer, 'b')));
    expect(gone.receiver.received).toHaveLength(1);
    expect(gone.id).not.toBe(id);
  },
  'lost response': async (world) => {
    const { receiver, secret } = await toldAgain(world, (response) => response.destroy());
    const known = new Map((await receiver.events(secret, 2)).map((event) => [event.id, event]));
    expect(known.size).toBe(1);
  },
  expired: async (world) => {
    const journal = memoryJournal({ outbox: true });
    const buyer = await world.buyer({ USDC: '1' }, { journal });
    const receiver = await receiving(world);
    const { secret } = await telling(world, journal, receiver, {
      events: ['payment.uncertain', 'payment.settled', 'payment.failed'],
    });
    let settle = (): void => undefined;
    const allowed = new Promise<void>((resolve) => (settle = resolve));
    // The answer is lost before the settlement; the seller settles after payment.uncertain arrived.
    const front = await world.front(
      onPaid((exchange) => {
        if (exchange.beforeAlike === 0) void allowed.then(() => exchange.pass());
        return 'cut';
      }),
    );
    const lost = await failureOf(world.buy(buyer, 'a', { base: front.url }), 'payment_uncertain');
    const [uncertain] = await receiver.events(secret, 1);
    settle();
    const [, settled] = await receiver.events(secret, 2);
    expect([uncertain?.type, settled?.type]).toEqual(['payment.uncertain', 'payment.settled']);
    expect(settled?.data.id).toBe(uncertain?.data.id);
    expect(settled?.data).toMatchObject({
      payerSignature: payerSignatureOf(lost),
      wallet: buyer.address,
    });
  },
  duplicate: async (world) => {
    // Every write is repeated, as after a lost answer.
    const inner = memoryJournal({ outbox: true });
    const journal: Journal = {
      ...inner,
      async put(attempt) {
        await inner.put(attempt);
        await inner.put(attempt);
      },
    };
    const buyer = await world.buyer({ USDC: '1' }, { journal });
    const receiver = await receiving(
      world,
      onFirst((response) => response.destroy()),
    );
    const { secret } = await telling(world, journal, receiver);
    for (const purchase of ['a', 'b']) await decided(await bought(world.buy(buyer, purchase)));
    const events = await receiver.events(secret, 3);
    expect(events).toHaveLength(3);
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  },
  concurrent: async (world) => {
    const journal = memoryJournal({ outbox: true });
    const buyer = await world.buyer({ USDC: '1' }, { journal });
    const receiver = await receiving(world);
    const { secret } = await telling(world, journal, receiver);
    const otherHubs = [
      createWebhooks({ journal, allowPrivateTargets: true }),
      createWebhooks({ journal, allowPrivateTargets: true }),
    ];
    for (const other of otherHubs) {
      world.onClose(() => other.close());
      other.start();
    }
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((purchase) => bought(world.buy(buyer, purchase))),
    );
    await Promise.all(answers.map(decided));
    await receiver.events(secret, 6);
    // Every taken job has ended, so no event can arrive later.
    await Promise.all(otherHubs.map((other) => other.close()));
    const events = await receiver.events(secret, 6);
    expect(events).toHaveLength(6);
    expect(new Set(events.map(({ id }) => id)).size).toBe(6);
  },
});

/** Returns the child as a bundle, because plain Node cannot load TypeScript. */
async function program(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./teller.child.ts', import.meta.url))],
    ...{ bundle: true, write: false, platform: 'node', format: 'cjs', logLevel: 'error' },
  });
  return outputFiles[0]!.contents;
}
