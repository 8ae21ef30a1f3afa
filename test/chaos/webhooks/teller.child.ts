import type { Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { deliverOver } from '../../../adapters/webhooks/deliver.js';
import { webhooksOver } from '../../../adapters/webhooks/hub.js';
import { parseWebhooksOptions } from '../../../adapters/webhooks/options.js';
import { resolveByDns } from '../../../adapters/webhooks/resolve.js';
import { systemRuntime, type Runtime } from '../../../src/internal/runtime.js';
import type { TellerTask } from './tellers.js';
import { OWNER, writesOf } from './story.js';

/** A process that writes attempts, delivers their events, or both; it resumes a killed process. */
const task = JSON.parse(process.argv[2] ?? '') as TellerTask;
const { epoch, speed } = task.clock;
/** Met by nothing: every receiver answers, and Postgres too, however slowly. */
const PATIENCE_MS = 60_000;

/** A faster clock: days of waiting for failed endpoints pass in a minute. */
const runtime: Runtime = {
  ...systemRuntime,
  now: () => Math.round(epoch + (systemRuntime.now() - epoch) * speed),
  sleep: (ms, signal) => systemRuntime.sleep(ms / speed, signal),
  idle: (ms, signal) => systemRuntime.idle(ms / speed, signal),
};

const journal =
  'path' in task.place
    ? fileJournal(task.place.path, { outbox: true })
    : postgresJournal({ ...task.place, outbox: true, timeoutMs: PATIENCE_MS });

async function write(to: Journal): Promise<void> {
  const written = new Map<string, number>();
  for await (const { id, toldAt } of to.attempts(OWNER)) written.set(id, toldAt ?? 0);
  let next = 0;
  const writeNext = async () => {
    while (next < task.writes) {
      const [reserved, ...puts] = writesOf(next++);
      if (reserved === undefined) continue;
      const from = written.get(reserved.id);
      if (from === undefined) await to.reserve(reserved, []);
      for (const put of puts.slice(from ?? 0)) await to.put(put);
    }
  };
  await Promise.all(Array.from({ length: 40 }, writeNext));
}

const parsed = parseWebhooksOptions({
  journal,
  allowPrivateTargets: true,
  timeoutMs: PATIENCE_MS,
  concurrency: 32,
  perEndpoint: 16,
});
/**
 * Short, so that jobs of a killed process are soon free. Some jobs are then taken twice while their
 * delivery still runs.
 */
const LEASE_MS = 15_000;
const settings = {
  ...parsed,
  outbox: {
    ...parsed.outbox,
    take: (options: Parameters<typeof parsed.outbox.take>[0]) =>
      parsed.outbox.take({ ...options, leaseMs: LEASE_MS * speed }),
  },
};
const deliver = deliverOver({
  rules: settings.rules,
  resolve: resolveByDns,
  timeoutMs: PATIENCE_MS,
});
const webhooks = webhooksOver(settings, { runtime, deliver });

if (task.endpoints.length > 0) {
  const made = await Promise.all(task.endpoints.map((endpoint) => webhooks.register(endpoint)));
  process.stdout.write(`${JSON.stringify(made.map(({ secret }) => secret))}\n`);
}
if (task.delivers) webhooks.start();
if (task.writes > 0) await write(journal);
process.stdin.resume();
process.stdin.once('end', () => {
  webhooks
    .close()
    .then(() => journal.close())
    .then(() => process.exit(0))
    .catch((error: unknown) => {
      process.stderr.write(String(error));
      process.exit(1);
    });
});
