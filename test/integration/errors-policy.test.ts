import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileJournal } from 'exact-change/journal/file';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { expectUntouched, refusal } from '../helpers/untouched.js';

const CHILD = fileURLToPath(new URL('../helpers/file-journal.child.ts', import.meta.url));

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = () => `${sandbox.apiUrl}/usdc`;

/** A place for a journal, gone with the test. */
async function place(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return join(directory, 'payments.jsonl');
}

it('not_allowed: the list and what it refuses are in the details', async () => {
  const payer = await payerOn(
    sandbox,
    { USDC: '1' },
    { policy: { deny: { payees: [sandbox.merchant] } } },
  );
  const error = await refusal(sandbox, payer, 'not_allowed', () => payer.client.fetch(url()));
  expect(error).toMatchObject({
    name: 'PolicyError',
    retry: 'never',
    details: { list: 'deny.payees', value: sandbox.merchant },
  });
});

it('approval_refused: the hook did not say yes', async () => {
  const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { approve: () => false } });
  const error = await refusal(sandbox, payer, 'approval_refused', () => payer.client.fetch(url()));
  expect(error).toMatchObject({
    name: 'PolicyError',
    retry: 'never',
    details: { reason: 'refused' },
  });
});

it('journal_locked: another process has the file, and nothing is paid until it is free', async () => {
  const path = await place();
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const journal = fileJournal(path);
  onTestFinished(() => journal.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  // Not even what is spent can be asked for meanwhile.
  const error = await failureOf(payer.client.fetch(url()), 'journal_locked');
  expectUntouched(error);
  expect(error).toMatchObject({
    name: 'TransportError',
    retry: 'never',
    details: { path, pid: child.pid },
  });
  expect(payer.signed).toEqual([]);
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  expect((await payer.client.fetch(url())).status).toBe(200);
});

it('journal_damaged: what was spent is not known, so nothing more is', async () => {
  const path = await place();
  const before = fileJournal(path);
  const first = await payerOn(sandbox, { USDC: '1' }, { journal: before });
  expect((await first.client.fetch(url())).status).toBe(200);
  await until('it is settled', () =>
    first.events.some(({ type }) => type === 'payment.settled') ? true : undefined,
  );
  await first.client.close();
  await before.close();
  const text = await readFile(path, 'utf8');
  const offset = text.indexOf('\n') + 1;
  await writeFile(path, `${text.slice(0, offset)}?${text.slice(offset + 1)}`);
  const journal = fileJournal(path);
  onTestFinished(() => journal.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  const error = await failureOf(payer.client.fetch(url()), 'journal_damaged');
  expectUntouched(error);
  expect(error).toMatchObject({
    name: 'TransportError',
    retry: 'never',
    details: { path, offset },
  });
  expect(payer.signed).toEqual([]);
});
