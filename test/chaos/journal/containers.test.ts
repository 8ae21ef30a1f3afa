import { mkdir, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProcessId } from '../../../adapters/journals/file/processes.js';
import { attemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import type { Contender } from '../../helpers/contenders.js';
import { journalFiles } from '../../helpers/journal-files.js';

// By what Linux gives to containers, which not every system lets a user have: in `.ci/run`, not in
// `npm test`.

const OWNER = { wallet: 'wallet', network: 'network' };

let directory: string;
let path: string;
const { contenders, journalOf } = journalFiles((at) => ({ directory, path } = at));

const holdersOf = (all: readonly Contender[]) => all.filter(({ said }) => said === 'holds');
const socketsIn = async (place: string) =>
  (await readdir(place)).filter((name) => name.endsWith('.sock'));
const socketOf = async () =>
  join(
    directory,
    (JSON.parse(await readFile(`${path}.lock`, 'utf8')) as ProcessId).socket ?? 'none',
  );

describe('the holder of a file journal', () => {
  it('locks out every other container, and the next opens at once when it was killed: exactly one of those that start together', async () => {
    const held: Contender[] = [];
    for (let round = 0; round < 2; round += 1) {
      const all = await Promise.all(
        Array.from({ length: 4 }, (_, index) =>
          contenders.startContained(path, `${round} ${index}`),
        ),
      );
      // Each is process 1 of its own namespace.
      expect(all.map(({ said }) => said).sort()).toEqual([
        'holds',
        ...Array.from({ length: 3 }, () => 'locked by 1'),
      ]);
      const [holder] = holdersOf(all);
      held.push(holder!);
      for (const one of [...all.filter((other) => other !== holder), holder!]) await one.kill();
    }
    const journal = journalOf();
    expect(await idsOf(journal.attempts(OWNER))).toHaveLength(held.length);
    await journal.close();
    expect(await readdir(directory)).toEqual(['payments.jsonl']);
  });

  it('locks out containers on this disk that have boot ids of their own, and the next opens at once when it was killed', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'boots-'));
    try {
      const boots = await Promise.all(
        ['1', '2'].map(async (boot) => {
          const file = join(elsewhere, boot);
          await writeFile(file, `${boot.repeat(8)}-0000-4000-8000-000000000000\n`);
          return file;
        }),
      );
      const [first = '', second = ''] = boots;
      const holder = await contenders.startBooted(path, first);
      expect(JSON.parse(await readFile(`${path}.lock`, 'utf8'))).toMatchObject({
        kernel: expect.stringMatching(/^11111111-/),
      });
      expect([holder.said, (await contenders.startBooted(path, second)).said]).toEqual([
        'holds',
        'locked by 1',
      ]);
      await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
        code: 'journal_locked',
        details: { pid: 1 },
      });
      await holder.kill();
      expect((await contenders.startBooted(path, second, 'next')).said).toBe('holds');
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it('is found by a path that is too long for the address of a socket', async () => {
    const deep = join(directory, 'd'.repeat(120));
    await mkdir(deep);
    const far = join(deep, 'payments.jsonl');
    const first = await contenders.startContained(far);
    expect([first.said, (await contenders.startContained(far)).said]).toEqual([
      'holds',
      'locked by 1',
    ]);
    expect(await socketsIn(deep)).toHaveLength(1);
    await first.kill();
    const journal = journalOf(far);
    expect(await idsOf(journal.attempts(OWNER))).toEqual(['contained']);
    await journal.close();
    expect(await readdir(deep)).toEqual(['payments.jsonl']);
  });

  it('keeps its lock while it is stopped, however many processes ask for it', async () => {
    const holder = await contenders.startContained(path);
    process.kill(holder.pid, 'SIGSTOP');
    const asking: Socket[] = [];
    const refusals = new Set<unknown>();
    const address = await socketOf();
    // More than the kernel keeps waiting.
    for (let count = 0; count < 600; count += 1) {
      const socket = connect({ path: address });
      asking.push(socket);
      await new Promise<void>((resolve) => {
        socket.once('connect', resolve);
        socket.once('error', (error: NodeJS.ErrnoException) => {
          refusals.add(error.code);
          resolve();
        });
      });
    }
    expect([...refusals]).toEqual(['EAGAIN']);
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_locked',
      details: { pid: 1 },
    });
    for (const socket of asking) socket.destroy();
    await holder.kill();
    expect(await journalOf().used(OWNER, [], NOW)).toEqual([]);
  });

  it('writes nothing more once its socket was taken away, and never into the lines of the next', async () => {
    const former = journalOf();
    await former.reserve(attemptOf({ id: 'former' }), []);
    await unlink(await socketOf());
    await expect(former.reserve(attemptOf({ id: 'late' }), [])).rejects.toMatchObject({
      code: 'journal_unavailable',
      message: expect.stringContaining('or the socket that this names'),
    });
    const next = await contenders.startContained(path);
    expect(next.said).toBe('holds');
    await expect(former.reserve(attemptOf({ id: 'later' }), [])).rejects.toMatchObject({
      code: 'journal_unavailable',
    });
    await former.close();
    expect((await contenders.startContained(path)).said).toBe('locked by 1');
    await next.kill();
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['former', 'contained']);
  });
});

describe('a second path to the file', () => {
  it('is refused if the file itself is mounted there', async () => {
    const at = join(directory, 'elsewhere', 'payments.jsonl');
    await mkdir(join(directory, 'elsewhere'));
    await writeFile(at, '');
    await journalOf().reserve(attemptOf({ id: 'one' }), []);
    const before = await readFile(path);
    expect((await contenders.startMounted(path, at)).said).toContain(
      'The file itself is mounted there',
    );
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(join(directory, 'elsewhere'))).toEqual(['payments.jsonl']);
  });
});
