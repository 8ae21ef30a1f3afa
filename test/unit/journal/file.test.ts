import fs from 'node:fs';
import {
  appendFile,
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { describe, expect, it, vi } from 'vitest';
import type * as File from '../../../adapters/journals/file.js';
import { crc32 } from '../../../adapters/journals/file/crc32.js';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { nodeProcesses } from '../../../adapters/journals/file/processes.js';
import {
  attemptOf,
  dayCap,
  fullAttemptOf,
  idsOf,
  listOf,
  NOW,
  totalCap,
} from '../../helpers/attempts.js';
import { until } from '../../helpers/chain.js';
import { journalFiles } from '../../helpers/journal-files.js';
import { failure, fakeProcesses, MemoryDisk } from '../../helpers/memory-disk.js';

const OWNER = { wallet: 'wallet', network: 'network' };

/** A line in the format of version 1. */
function oldLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${crc32(Buffer.from(json)).toString(16).padStart(8, '0')} ${json}\n`;
}

const socketsIn = async (place: string) =>
  (await readdir(place)).filter((name) => name.endsWith('.sock'));

let directory: string;
let path: string;
const { contenders, journalOf, closeLater } = journalFiles((at) => ({ directory, path } = at));

describe('a file journal', () => {
  it('touches nothing on the disk until its first use', async () => {
    const journal = journalOf(join(directory, 'no such directory', 'payments.jsonl'));
    expect(await readdir(directory)).toEqual([]);
    await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
      code: 'journal_unavailable',
      cause: { code: 'ENOENT' },
    });
    await journalOf(join(directory, 'unused.jsonl')).close();
    expect(await readdir(directory)).toEqual([]);
  });

  it.each(['', '\0', undefined, 5])('rejects the path %j at once', (wrong) => {
    expect(() => fileJournal(wrong as string)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'path' } }),
    );
  });

  it('writes lines of text as FORMAT.md describes', async () => {
    const attempt = attemptOf();
    await journalOf().reserve(attempt, []);
    const [header, nothing, seat, line, end] = (await readFile(path, 'utf8')).split('\n');
    expect(header?.slice(9)).toBe(
      '{"format":"exact-change-journal","version":2,"whole":"0000000000000000"}',
    );
    const says = (text = '') => JSON.parse(text.replace(/^([0-9a-f]+ ){3}/, '')) as unknown;
    expect(nothing).toBe('');
    const [by] = says(seat) as [string];
    expect(says(seat)).toEqual([
      by,
      { seat: expect.objectContaining({ id: by, pid: process.pid }) },
    ]);
    expect(says(line)).toEqual([by, { put: attempt }]);
    expect(end).toBeUndefined();
  });

  it('drops a line that was cut off, and writes on', async () => {
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    await first.close();
    await appendFile(path, '\n12345678 300 9999 ["by",{"put":{"id":"two"');
    const again = journalOf();
    await again.reserve(attemptOf({ id: 'three' }), []);
    expect(await idsOf(again.attempts(OWNER))).toEqual(['one', 'three']);
    await again.close();
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['one', 'three']);
  });

  it('makes no file when the disk takes only a part of its first line', async () => {
    const { writeSync } = fs;
    const write = vi.spyOn(fs, 'writeSync');
    write.mockImplementationOnce((file, line) => writeSync(file, line.slice(0, 40)));
    syncBuiltinESMExports();
    const journal = journalOf();
    const first = journal.reserve(attemptOf(), []);
    await expect(first).rejects.toMatchObject({ message: expect.stringContaining('ENOSPC') });
    write.mockRestore();
    syncBuiltinESMExports();
    await journal.reserve(attemptOf({ id: 'later' }), []);
    expect(await idsOf(journal.attempts(OWNER))).toEqual(['later']);
  });

  it('refuses to spend, changes nothing and names the offset when its file is damaged', async () => {
    const first = journalOf();
    await first.reserve(attemptOf(), []);
    await first.close();
    const bytes = await readFile(path);
    const offset = bytes.indexOf('\n\n') + 1;
    bytes[offset + 60]! ^= 1;
    await writeFile(path, bytes);
    for (const journal of [journalOf(), journalOf()])
      await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
        code: 'journal_damaged',
        details: { path, offset },
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

  it('refuses a file of a newer version, with another error than for damage', async () => {
    await writeFile(path, oldLine({ format: 'exact-change-journal', version: 3 }));
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('version 3'),
    });
  });

  it('refuses calls after it was closed, and ignores a second close', async () => {
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

describe('a path that leads somewhere else', () => {
  it('makes the file that a symbolic link names, and shares it by both paths', async () => {
    const target = join(directory, 'volume', 'kept.jsonl');
    await mkdir(join(directory, 'volume'));
    await symlink(join('volume', 'kept.jsonl'), path);
    await journalOf().reserve(attemptOf({ id: 'by the link' }), []);
    expect(await idsOf(journalOf(target).attempts(OWNER))).toEqual(['by the link']);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(await socketsIn(directory)).toEqual([]);
  });

  it('leaves a file that is no journal as it is, its mode included', async () => {
    await writeFile(path, 'notes\n');
    await chmod(path, 0o644);
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_damaged',
    });
    expect((await stat(path)).mode & 0o777).toBe(0o644);
    expect(await readFile(path, 'utf8')).toBe('notes\n');
  });
});

describe('a second journal of a file in the same process', () => {
  it('shares the state of the first, by any path, until the last is closed', async () => {
    await symlink(directory, join(directory, 'link'));
    const [first, second] = [
      journalOf(),
      journalOf(join(directory, 'link', '.', 'payments.jsonl')),
    ];
    const results = await Promise.all(
      [first, second].flatMap((journal) =>
        Array.from({ length: 10 }, () => journal.reserve(attemptOf(), [dayCap(50_000n)])),
      ),
    );
    expect(results.filter((result) => result === undefined)).toHaveLength(5);
    await first.close();
    expect(await second.used(OWNER, [dayCap(0n)], NOW)).toEqual([50_000n]);
    expect(await socketsIn(directory)).toHaveLength(1);
    const closing = second.close();
    const third = journalOf();
    expect(await third.used(OWNER, [dayCap(0n)], NOW)).toEqual([50_000n]);
    await closing;
    await third.close();
    expect(await socketsIn(directory)).toEqual([]);
  });

  it('shares the state of the first also across copies of the package', async () => {
    const copy = await vi.importActual<typeof File>(
      '../../../adapters/journals/file.js?another-copy',
    );
    expect(copy.fileJournal).not.toBe(fileJournal);
    const copied = closeLater(copy.fileJournal(path));
    await copied.reserve(attemptOf({ id: 'theirs' }), []);
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['theirs']);
  });
});

describe('a file that several processes use', () => {
  it('shows each process all writes, and frees the claims of a killed process at once', async () => {
    const holders = await Promise.all(Array.from({ length: 6 }, () => contenders.start(path)));
    expect(holders.map(({ said }) => said)).toEqual(Array.from({ length: 6 }, () => 'holds'));
    const ids = holders.map(({ pid }) => `of ${pid}`);
    const journal = journalOf();
    expect((await idsOf(journal.attempts(OWNER))).sort()).toEqual([...ids].sort());
    const { claims } = journal.coordination(OWNER);
    expect(await claims.live(ids)).toEqual(new Set(ids));
    await holders[0]!.kill();
    await holders[1]!.kill();
    expect(await claims.live(ids)).toEqual(new Set(ids.slice(2)));
    await contenders.killAll();
    expect(await claims.live(ids)).toEqual(new Set());
    // The sockets of ended processes are removed in the background.
    await expect.poll(() => socketsIn(directory)).toHaveLength(1);
  });
});

describe('a file of version 1', () => {
  const place = { wallet: 'wallet', network: 'network', host: 'a.test', payTo: 'p', mint: 'm' };
  const carry = { ...place, cost: { USD: '5', payments: '2' }, until: NOW - 1_000 };
  const open = attemptOf({ id: 'open' });
  const over = attemptOf({ id: 'over', state: 'settled', delivered: true, idempotencyKey: 'key' });
  const lines = [
    { format: 'exact-change-journal', version: 1 },
    [{ widest: 86_400_000 }, { carry }],
    [{ put: attemptOf({ id: 'gone' }) }, { put: open }],
    [{ put: over }, { release: 'gone' }],
  ].map(oldLine);

  it('is converted to the current version with all that it holds', async () => {
    await writeFile(path, `${lines.join('')}12345678 [{"put":{"id":"torn"`);
    const [first, second] = [journalOf(), journalOf()];
    expect(await listOf(first.attempts(OWNER))).toEqual([open, over]);
    expect(await second.used(OWNER, [totalCap(0n), dayCap(0n, { unit: 'payments' })], NOW)).toEqual(
      [20_005n, 4n],
    );
    expect(await first.used(OWNER, [dayCap(0n, { windowMs: 1_000 })], NOW)).toEqual([20_000n]);
    expect(await first.similar(OWNER, '', 'key')).toEqual([over]);
    expect(await readFile(path, 'utf8')).toContain('"version":2');
    expect((await readdir(directory)).filter((name) => !name.endsWith('.sock'))).toEqual([
      'payments.jsonl',
      'payments.jsonl.history',
    ]);
    await Promise.all([first.close(), second.close()]);
    expect(await listOf(journalOf().attempts(OWNER))).toEqual([open, over]);
  });

  it('leaves no file open when it cannot be converted', async () => {
    const disk = new MemoryDisk();
    disk.put('/old', Buffer.from(lines.join('')));
    const step = (call: string, at: string) => {
      if (call === 'rename' && at === '/old') throw failure('ENOSPC');
    };
    const journal = journalAt('/old', {
      ...{ disk: disk.port(step), processes: fakeProcesses().as(1) },
      ...{ compactFrom: 4_000, recent: 0 },
    });
    await expect(journal.used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_unavailable',
      cause: { code: 'ENOSPC' },
    });
    expect([[...disk.files.keys()].includes('/old.history'), disk.openFiles]).toEqual([true, 0]);
  });

  it('is converted once when several processes open it together', async () => {
    await writeFile(path, lines.join(''));
    const holders = await Promise.all(Array.from({ length: 4 }, () => contenders.start(path)));
    expect(holders.map(({ said }) => said)).toEqual(Array.from({ length: 4 }, () => 'holds'));
    expect(await idsOf(journalOf().attempts(OWNER))).toHaveLength(6);
  });

  it.each([
    [
      'locked while a process of the older release has it open',
      'lives',
      { code: 'journal_locked', details: { pid: process.pid } },
    ],
    ['converted when the process of the older release has ended', 'gone', undefined],
    [
      'locked when nothing shows if the process of the older release lives',
      'unseen',
      { code: 'journal_locked' },
    ],
  ])('is %s', async (_, what, refusal) => {
    await writeFile(path, lines.join(''));
    const life = await nodeProcesses.live(directory);
    const { sign, ...holder } = life.process;
    if (what === 'gone') await life.end();
    const socket = what === 'unseen' ? {} : { socket: sign };
    await writeFile(`${path}.lock`, JSON.stringify({ ...holder, ...socket }));
    const used = journalOf().used(OWNER, [], NOW);
    if (refusal === undefined) expect(await used).toEqual([]);
    else await expect(used).rejects.toMatchObject(refusal);
    expect((await readdir(directory)).includes('payments.jsonl.lock')).toBe(refusal !== undefined);
    await life.end();
  });

  it.each([
    ['a flipped bit', (text: string) => text.replace('"open"', '"opem"')],
    ['an unknown record', (text: string) => `${text}${oldLine([{ other: 1 }])}`],
    [
      'a negative amount',
      (text: string) => `${text}${oldLine([{ put: { ...open, amount: '-1' } }])}`,
    ],
  ])('is damaged by %s, and stays unchanged', async (_, spoil) => {
    const text = spoil(lines.join(''));
    await writeFile(path, text);
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_damaged',
    });
    expect(await readFile(path, 'utf8')).toBe(text);
  });
});

describe('a file that has grown', () => {
  it('loses the bytes of closed attempts in a rewrite, and keeps open attempts and all-time sums', async () => {
    const journal = journalOf();
    const bytes = 'x'.repeat(4_500);
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
    // More attempts than the file keeps with their bytes.
    for (let round = 0; round < 30; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => buy(`${10 * round + index}`, { delivered: true })),
      );
    await buy('after', { delivered: true });
    await until('it was written anew', async () => {
      await journal.raise(
        attemptOf({ id: 'lost', state: 'settled', microUsd: '2', swap, payment }),
        [],
      );
      const [seventh] = (await listOf(journal.attempts(OWNER))).filter(({ id }) => id === '7');
      return seventh?.payment?.header.value === '' ? true : undefined;
    });
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
    expect(sizes.get('lost')).toEqual([4_500, 4_500]);
    // A payment with a key is presented again when a caller repeats the key.
    expect(sizes.get('keyed')).toEqual([4_500, 4_500]);
    expect(sizes.get('7')).toEqual([0, 0]);
    await journal.close();
    const again = journalOf();
    expect(await listOf(again.attempts(OWNER))).toEqual(before);
    expect(await again.used(OWNER, [totalCap(0n), dayCap(0n, { unit: 'payments' })], NOW)).toEqual([
      606n,
      303n,
    ]);
    expect(await again.similar(OWNER, '', 'key')).toHaveLength(1);
  });

  it('counts closed attempts after a rewrite, and lists all attempts', async () => {
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
    expect((await readFile(path, 'utf8')).includes('"spent"')).toBe(true);
    const again = journalOf();
    expect(await again.used(OWNER, used, NOW)).toEqual([30_121n, 1n, 10_041n]);
    expect(await listOf(again.attempts(OWNER))).toHaveLength(10_041);
    await again.reserve(attemptOf({ id: 'of another', wallet: 'another', at: NOW }), []);
    expect(await listOf(again.attempts(undefined))).toHaveLength(10_042);
    expect(await idsOf(again.attempts(undefined, { since: NOW }))).toEqual([last.id, 'of another']);
  });
});
