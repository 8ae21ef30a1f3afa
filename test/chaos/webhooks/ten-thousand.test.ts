import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Journal, OutboxJob } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { webhookEvents } from '../../../src/outbox/outbox.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programOf } from '../../helpers/program.js';
import { startPostgres, type Postgres } from '../../helpers/postgres.js';
import { startReceiver, type Receiver } from './receivers.js';
import { toldOf } from './story.js';
import { startTeller, type TellerTask } from './tellers.js';

const YEAR_MS = 31_536_000_000;
const program = programOf(fileURLToPath(new URL('./teller.child.ts', import.meta.url)));

let postgres: Postgres;
let folder: string;
beforeAll(async () => {
  [postgres, folder] = await Promise.all([
    startPostgres(),
    mkdtemp(join(tmpdir(), 'exact-change-webhooks-')),
  ]);
});
afterAll(() => Promise.all([postgres.stop(), rm(folder, { recursive: true, force: true })]));

/** Returns the expected events of an endpoint that subscribes to the given types. */
const wanted = (attempts: number, events: readonly string[]) =>
  Array.from({ length: attempts }, (_, index) => toldOf(index))
    .flat()
    .filter((said) => events.some((type) => said.startsWith(type)))
    .sort();

interface Setting {
  readonly place: TellerTask['place'];
  /** Number of attempts; five attempts cause seven events. */
  readonly attempts: number;
  readonly speed: number;
  /** Most failures in a row for a message; the schedule waits longer after each. */
  readonly inARow: number;
  /** The processes that run at once. */
  readonly roles: readonly { readonly writes: boolean; readonly delivers: boolean }[];
  readonly open: () => Journal & { close(): Promise<void> };
}

const WISHES = [webhookEvents, ['payment.failed', 'swap.confirmed']] as const;

/** Starts two receivers; `until` waits until both together accepted a number of messages. */
async function startReceivers({ inARow, speed }: Setting, now: () => number) {
  let tell = (_: string[]): void => undefined;
  const secrets = new Promise<string[]>((resolve) => (tell = resolve));
  const receivers: Receiver[] = [];
  let reached = (): void => undefined;
  let mark = Infinity;
  const look = () => {
    if (receivers.reduce((sum, { accepted }) => sum + accepted.size, 0) >= mark) reached();
  };
  for (const index of WISHES.keys()) {
    const secret = secrets.then((list) => list[index] ?? '');
    receivers.push(
      await startReceiver({
        ...{ name: `receiver-${index}`, secret, inARow, now, speed },
        onAccepted: look,
      }),
    );
  }
  const until = (accepted: number) =>
    new Promise<void>((resolve) => {
      [mark, reached] = [accepted, resolve];
      look();
    });
  return { receivers, tell, until };
}

/**
 * Runs until every receiver has accepted all its events. Kills every process after a third of them,
 * and again after two thirds.
 */
async function tellAll(
  setting: Setting,
): Promise<{ receivers: Receiver[]; left: readonly OutboxJob[]; complaints: string }> {
  const { place, attempts, speed, roles, open } = setting;
  const clock = { epoch: Date.now(), speed };
  const now = () => clock.epoch + (Date.now() - clock.epoch) * speed;
  const { receivers, tell, until } = await startReceivers(setting, now);
  // Write in shares, because an outbox drops jobs beyond its limit.
  const start = (
    { writes, delivers }: Setting['roles'][number],
    share: number,
    endpoints: TellerTask['endpoints'] = [],
  ) =>
    startTeller(program, {
      place,
      clock,
      writes: writes ? Math.ceil(attempts * share) : 0,
      delivers,
      endpoints,
    });

  const registrar = start(
    { writes: false, delivers: false },
    0,
    receivers.map(({ url }, index) => ({ url, events: WISHES[index] ?? [] })),
  );
  tell(await registrar.secrets);
  let complaints = await registrar.end();

  const total = WISHES.reduce((sum, events) => sum + wanted(attempts, events).length, 0);
  for (const share of [1 / 3, 2 / 3]) {
    const doomed = roles.map((role) => start(role, share + 1 / 6));
    await Promise.race([until(total * share), ...doomed.map(({ failed }) => failed)]);
    await Promise.all(doomed.map((teller) => teller.kill()));
  }
  const last = roles.map((role) => start(role, 1));
  await Promise.race([until(total), ...last.map(({ failed }) => failed)]);
  complaints += (await Promise.all(last.map((teller) => teller.end()))).join('');
  await Promise.all(receivers.map((receiver) => receiver.close()));

  const journal = open();
  const left = await journal.outbox?.take({ limit: 100, leaseMs: 1, now: now() + YEAR_MS });
  await journal.close();
  return { receivers, left: left ?? [], complaints };
}

describe('events to endpoints that fail at 30 %, through two crashes', () => {
  const settings: readonly (readonly [string, () => Promise<Setting>])[] = [
    [
      'ten thousand in a file, written and delivered by one process',
      async () => {
        const path = join(folder, 'payments.jsonl');
        const open = () => fileJournal(path, { outbox: true });
        return {
          place: { path },
          attempts: 7_145,
          speed: 60,
          inARow: 2,
          roles: [{ writes: true, delivers: true }],
          open,
        };
      },
    ],
    [
      '2,500 in Postgres, written by one process and delivered by two',
      async () => {
        const connectionString = await postgres.createDatabase();
        const open = () => postgresJournal({ connectionString, outbox: true });
        const deliverer = { writes: false, delivers: true };
        return {
          place: { connectionString },
          // Fewer events, because errors occur around the two crashes and not between them.
          attempts: 1_790,
          speed: 1,
          inARow: 1,
          roles: [{ writes: true, delivers: false }, deliverer, deliverer],
          open,
        };
      },
    ],
  ];

  it.each(settings)(
    'arrive at least once each, and none is forged (%s)',
    { timeout: 900_000 },
    async (_, start) => {
      const setting = await start();
      const { receivers, left, complaints } = await tellAll(setting);
      const expected = WISHES.map((events) => wanted(setting.attempts, events));
      const [ofAll, ofSome] = receivers;
      const says = (receiver: Receiver | undefined) =>
        [...(receiver?.accepted.values() ?? [])].map((event) => event.says).sort();
      expect([says(ofAll), says(ofSome)]).toEqual(expected);
      expect(says(ofAll)).toHaveLength((setting.attempts / 5) * 7);
      expect(receivers.map(({ forged }) => forged)).toEqual([[], []]);
      expect(ofAll?.failures).toBeGreaterThan(setting.attempts / 3);
      // A job that a killed process delivered may still wait for a second delivery.
      const missing = left.filter(
        ({ event }) => !receivers.some(({ accepted }) => accepted.has(event.id)),
      );
      expect([missing, complaints]).toEqual([[], '']);
    },
  );
});
