import { mkdtemp, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { expect, it, onTestFinished } from 'vitest';
import { crc32 } from '../../adapters/journals/file/crc32.js';
import { encodeHeader } from '../../adapters/journals/file/header.js';
import { encodeLine } from '../../adapters/journals/file/line.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = () => `${sandbox.apiUrl}/usdc`;

/** Returns a path for a journal; the test removes its directory at the end. */
async function place(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return join(directory, 'payments.jsonl');
}

it('rejects with journal_locked while a process of another machine may use the file', async () => {
  const path = await place();
  const other = {
    id: 'a'.repeat(32),
    pid: 4_242,
    host: 'another',
    sign: `.${'a'.repeat(32)}.seat`,
  };
  const header = encodeHeader();
  const line = encodeLine(header.length, JSON.stringify([other.id, { seat: other }]));
  await writeFile(path, Buffer.concat([header, line]));
  await writeFile(join(dirname(path), other.sign), '');
  const journal = fileJournal(path);
  onTestFinished(() => journal.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  // Use failureOf, because `refusal` reads what is spent, and the lock refuses that too.
  const error = await failureOf(payer.client.fetch(url()), 'journal_locked');
  expect(error).toMatchObject({
    name: 'TransportError',
    funds: 'uncertain',
    retry: 'never',
    details: { path, pid: other.pid },
  });
  expect(payer.signed).toEqual([]);
  await unlink(join(dirname(path), other.sign));
  expect((await payer.client.fetch(url())).status).toBe(200);
});

it('advises no repetition when the journal was closed', async () => {
  const journal = fileJournal(await place());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  await journal.close();
  const error = await failureOf(payer.client.fetch(url()), 'journal_unavailable');
  expect(error).toMatchObject({ funds: 'uncertain', retry: 'never' });
  expect(payer.signed).toEqual([]);
});

it('rejects with uncertain funds when a newer version wrote the journal', async () => {
  const path = await place();
  const head = '{"format":"exact-change-journal","version":3}';
  await writeFile(path, `${crc32(Buffer.from(head)).toString(16).padStart(8, '0')} ${head}\n`);
  const journal = fileJournal(path);
  onTestFinished(() => journal.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  const error = await failureOf(payer.client.fetch(url()), 'invalid_option');
  expect(error).toMatchObject({ name: 'ConfigError', funds: 'uncertain', retry: 'never' });
  expect(error.message).toMatch(/to find that payment\.$/);
  expect(error.stack).toContain(error.message);
  expect(payer.signed).toEqual([]);
});

it('rejects with journal_damaged and signs nothing when a line is damaged', async () => {
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
  expect(error).toMatchObject({
    name: 'TransportError',
    funds: 'uncertain',
    retry: 'never',
    details: { path, offset },
    // The journal that works next may be an empty one.
    message: expect.stringMatching(/before you repeat the call\.$/),
  });
  expect(payer.signed).toEqual([]);
});
