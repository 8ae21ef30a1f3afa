import { appendFile, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { describe, expect, it, vi } from 'vitest';
import type * as File from '../../../adapters/journals/file.js';
import {
  attemptOf,
  dayCap,
  fullAttemptOf,
  idsOf,
  listOf,
  NOW,
  totalCap,
} from '../../helpers/attempts.js';
import { journalFiles } from '../../helpers/journal-files.js';

const OWNER = { wallet: 'wallet', network: 'network' };

let directory: string;
let path: string;
const { contenders, journalOf, closeLater } = journalFiles((at) => ({ directory, path } = at));

describe('a journal in a file', () => {
  it('touches nothing until it is used', async () => {
    const journal = journalOf(join(directory, 'no such directory', 'payments.jsonl'));
    expect(await readdir(directory)).toEqual([]);
    await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
      code: 'journal_unavailable',
      cause: { code: 'ENOENT' },
    });
    await journalOf(join(directory, 'unused.jsonl')).close();
    expect(await readdir(directory)).toEqual([]);
  });

  it.each(['', '\0', undefined, 5])('takes %j for no path, at once', (wrong) => {
    expect(() => fileJournal(wrong as string)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'path' } }),
    );
  });

  it('is lines of text as FORMAT.md has them', async () => {
    const one = attemptOf();
    await journalOf().reserve(one, []);
    const [header, line, end] = (await readFile(path, 'utf8')).split('\n');
    expect(header).toBe('3339b863 {"format":"exact-change-journal","version":1}');
    expect(JSON.parse(line?.slice(9) ?? '')).toEqual([{ put: one }]);
    expect(end).toBe('');
  });

  it('drops a line that was cut off, and writes on where it began', async () => {
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    await first.close();
    await appendFile(path, '12345678 [{"put":{"id":"two"');
    const again = journalOf();
    await again.reserve(attemptOf({ id: 'three' }), []);
    expect(await idsOf(again.attempts(OWNER))).toEqual(['one', 'three']);
    await again.close();
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['one', 'three']);
  });

  it('spends nothing where it is damaged, changes nothing, and says where', async () => {
    const first = journalOf();
    await first.reserve(attemptOf(), []);
    await first.close();
    const bytes = await readFile(path);
    bytes[100]! ^= 1;
    await writeFile(path, bytes);
    for (const journal of [journalOf(), journalOf()])
      await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
        code: 'journal_damaged',
        details: { path, offset: 55 },
        funds: 'untouched',
      });
    expect(await readFile(path)).toEqual(bytes);
    expect(await readdir(directory)).toEqual(['payments.jsonl']);
    await writeFile(path, '');
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_damaged',
      details: { offset: 0 },
    });
  });

  it('of a newer version is refused, and told apart from damage', async () => {
    const { encodeLine } = await import('../../../adapters/journals/file/format.js');
    await writeFile(path, encodeLine({ format: 'exact-change-journal', version: 2 }));
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('version 2'),
    });
  });

  it('is not used after it was closed, and closing again does nothing', async () => {
    const journal = journalOf();
    const last = journal.reserve(attemptOf({ id: 'last' }), []);
    await Promise.all([journal.close(), journal.close()]);
    expect(await last).toBeUndefined();
    await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
      code: 'journal_unavailable',
    });
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['last']);
  });
});

describe('journals of one file in a process', () => {
  it('are one, by whatever path, until the last is closed', async () => {
    await symlink(directory, join(directory, 'link'));
    const [one, two] = [journalOf(), journalOf(join(directory, 'link', '.', 'payments.jsonl'))];
    const results = await Promise.all(
      [one, two].flatMap((journal) =>
        Array.from({ length: 10 }, () => journal.reserve(attemptOf(), [dayCap(50_000n)])),
      ),
    );
    expect(results.filter((result) => result === undefined)).toHaveLength(5);
    await one.close();
    expect(await two.used(OWNER, [dayCap(0n)], NOW)).toEqual([50_000n]);
    expect(await readdir(directory)).toContain('payments.jsonl.lock');
    const closing = two.close();
    const three = journalOf();
    expect(await three.used(OWNER, [dayCap(0n)], NOW)).toEqual([50_000n]);
    await closing;
    await three.close();
    expect(await readdir(directory)).not.toContain('payments.jsonl.lock');
  });

  it('are one also across copies of the package', async () => {
    const copy = await vi.importActual<typeof File>(
      '../../../adapters/journals/file.js?another-copy',
    );
    expect(copy.fileJournal).not.toBe(fileJournal);
    const theirs = closeLater(copy.fileJournal(path));
    await theirs.reserve(attemptOf({ id: 'theirs' }), []);
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['theirs']);
  });
});

describe('journals of one file in several processes', () => {
  it('shut each other out: of eight, one has it, and the next that comes when that one was killed has it at once', async () => {
    const first = await Promise.all(Array.from({ length: 8 }, () => contenders.start(path)));
    const holders = first.filter(({ said }) => said === 'holds');
    expect(holders).toHaveLength(1);
    const { pid } = holders[0]!;
    expect(first.filter((one) => one !== holders[0]).map(({ said }) => said)).toEqual(
      Array.from({ length: 7 }, () => `locked by ${pid}`),
    );
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_locked',
      details: { path, pid },
    });
    await holders[0]!.kill();
    const second = await Promise.all(Array.from({ length: 4 }, () => contenders.start(path)));
    expect(second.filter(({ said }) => said === 'holds')).toHaveLength(1);
    await contenders.killAll();
    const journal = journalOf();
    expect(await idsOf(journal.attempts(OWNER))).toEqual(
      [holders[0], second.find(({ said }) => said === 'holds')].map((one) => `of ${one?.pid}`),
    );
    expect((await readdir(directory)).filter((name) => name.includes('.after.'))).toEqual([]);
  });
});

describe('a file that has grown', () => {
  it('is rewritten without what is over, and keeps what is not, and what was taken for ever', async () => {
    const journal = journalOf();
    const bytes = 'x'.repeat(4_000);
    const payment = {
      ...fullAttemptOf().payment!,
      header: { name: 'PAYMENT-SIGNATURE', value: bytes },
    };
    const quoted = { inAmount: '1', outAmount: '2', feeLamports: '3' };
    const route = {
      inputMint: 'in',
      outputMint: 'out',
      provider: 'provider',
      source: 'from',
      output: 'to',
    };
    const lifetime = { blockhash: 'hash', blockhashSlot: 1, lastValidBlockHeight: '1' };
    const swap = { signature: 'signature', transaction: bytes, ...lifetime, quoted, ...route };
    const buy = async (id: string, end: object) => {
      const reserved = attemptOf({ id, microUsd: '2' });
      await journal.reserve(reserved, []);
      await journal.put({ ...reserved, swap, payment, state: 'signed' });
      await journal.put({ ...reserved, swap, payment, state: 'settled', ...end });
    };
    await buy('lost', {});
    await buy('keyed', { delivered: true, idempotencyKey: 'key' });
    for (let round = 0; round < 15; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => buy(`${10 * round + index}`, { delivered: true })),
      );
    await buy('after', { delivered: true });
    expect((await stat(path)).size).toBeLessThan(1_200_000);
    expect(await readdir(directory)).not.toContain('payments.jsonl.compact');
    const before = await listOf(journal.attempts(OWNER));
    expect(before.map(({ id }) => id)).toEqual([
      'lost',
      'keyed',
      ...before.slice(2, -1).map(({ id }) => id),
      'after',
    ]);
    const sizes = new Map(
      before.map(({ id, payment: paid, swap: swapped }) => [
        id,
        [paid?.header.value.length, swapped?.transaction.length],
      ]),
    );
    expect(sizes.get('lost')).toEqual([4_000, 4_000]);
    // What has a key is presented again to a caller that asks for it under that key.
    expect(sizes.get('keyed')).toEqual([4_000, 4_000]);
    expect(sizes.get('7')).toEqual([0, 0]);
    await journal.close();
    const again = journalOf();
    expect(await listOf(again.attempts(OWNER))).toEqual(before);
    expect(await again.used(OWNER, [totalCap(0n), dayCap(0n, { unit: 'payments' })], NOW)).toEqual([
      306n,
      153n,
    ]);
    expect(await again.similar(OWNER, '', 'key')).toHaveLength(1);
  });

  it('carries what was forgotten through a rewriting', async () => {
    const journal = journalOf();
    const old = { at: NOW - 90_000_000, state: 'settled', delivered: true, microUsd: '3' } as const;
    await Promise.all(Array.from({ length: 10_040 }, () => journal.reserve(attemptOf(old), [])));
    const last = attemptOf({ microUsd: '1' });
    await journal.reserve(last, []);
    const payment = {
      ...fullAttemptOf().payment!,
      header: { name: 'PAYMENT-SIGNATURE', value: 'x'.repeat(1_500_000) },
    };
    for (let time = 0; time < 10; time += 1)
      await journal.put({ ...last, state: 'signed', payment });
    const used = [totalCap(0n), dayCap(0n), totalCap(0n, { unit: 'payments' })];
    expect(await journal.used(OWNER, used, NOW)).toEqual([30_121n, 1n, 10_041n]);
    await journal.close();
    expect((await readFile(path, 'utf8')).includes('"carry"')).toBe(true);
    const again = journalOf();
    expect(await again.used(OWNER, used, NOW)).toEqual([30_121n, 1n, 10_041n]);
    expect(await listOf(again.attempts(OWNER))).toHaveLength(10_000);
  });
});
