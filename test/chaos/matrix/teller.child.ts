// Writes two events into a journal on disk and delivers them. The parent receives and kills it.
import { fileJournal } from '../../../adapters/journals/file.js';
import { createWebhooks } from '../../../adapters/webhooks/index.js';
import { attemptOf } from '../../helpers/attempts.js';

// Written by the parent.
const { path, url } = JSON.parse(process.argv[2] ?? '') as {
  readonly path: string;
  readonly url: string;
};

async function main(): Promise<void> {
  const journal = fileJournal(path, { outbox: true });
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true });
  const { secret } = await webhooks.register({ url, events: ['payment.failed'] });
  process.stdout.write(`${secret}\n`);
  const attempts = [attemptOf(), attemptOf({ fingerprint: 'another' })];
  for (const attempt of attempts) await journal.reserve(attempt, []);
  for (const { id } of attempts) await journal.release(id);
  webhooks.start();
  setInterval(() => {}, 60_000);
}

main().catch((error: unknown) => void process.stdout.write(`failed ${String(error)}\n`));
