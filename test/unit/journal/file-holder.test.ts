import { once } from 'node:events';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import {
  nodeProcesses,
  processesOn,
  type ProcessId,
} from '../../../adapters/journals/file/processes.js';
import { attemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import type { Contender } from '../../helpers/contenders.js';
import { journalFiles } from '../../helpers/journal-files.js';

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

const GONE = `.${'0'.repeat(32)}.sock`;

/** Has a socket that refuses: what a process that was killed leaves. */
async function leaveSocket(): Promise<ProcessId> {
  const life = await nodeProcesses.live(directory, 'e'.repeat(32));
  const name = `.${'f'.repeat(32)}.sock`;
  await link(join(directory, life.process.socket ?? 'none'), join(directory, name));
  await life.end();
  return { ...life.process, socket: name };
}

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

  it('may be a thread: another one is locked out, and is let in when that was ended', async () => {
    const worker = new Worker(contenders.program.path, { argv: [path], stdout: true });
    const [said]: unknown[] = await once(worker.stdout, 'data');
    expect(String(said)).toBe('holds');
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_locked',
      details: { pid: process.pid },
    });
    await worker.terminate();
    expect(await journalOf().used(OWNER, [], NOW)).toEqual([]);
  });

  it.each([
    [
      'another kernel, as far as its container says',
      { kernel: 'another boot', host: 'another' },
      true,
    ],
    [
      'another kernel, which had the disk before this one',
      { kernel: 'another boot', host: 'another', socket: GONE },
      false,
    ],
    [
      'another kernel without such sockets, elsewhere',
      { kernel: 'another boot', host: 'another', socket: undefined },
      true,
    ],
    ['a kernel without an id', { kernel: undefined, host: 'another' }, true],
    [
      'a kernel without an id, whose socket is gone',
      { kernel: undefined, host: 'another', socket: GONE },
      true,
    ],
    [
      'another kernel, on a file system that both may have',
      { kernel: 'another boot', volume: '77', host: 'another' },
      true,
    ],
    [
      'this kernel, on a file system that is mounted twice',
      { volume: '77', host: 'another' },
      true,
    ],
    [
      'a system without such sockets, elsewhere',
      { socket: undefined, host: `not ${hostname()}` },
      true,
    ],
    ['a system without such sockets, here', { socket: undefined }, true],
    [
      'a system without such sockets, under an id that is used again',
      { socket: undefined, start: 'long ago' },
      false,
    ],
    ['this kernel, whose socket is gone', { socket: GONE }, false],
  ])(
    'that ran on %s is judged by what can be known',
    async (_where, over: Partial<Record<keyof ProcessId, string | undefined>>, alive) => {
      const life = await nodeProcesses.live(directory, 'f'.repeat(32));
      const { socket, start, ...rest } = { ...life.process, ...over };
      await writeFile(`${path}.lock`, JSON.stringify({ id: 'id', socket, start, ...rest }));
      const used = journalOf().used(OWNER, [], NOW);
      if (alive)
        await expect(used).rejects.toMatchObject({
          code: 'journal_locked',
          details: { pid: process.pid },
        });
      else expect(await used).toEqual([]);
      await life.end();
    },
  );

  it.each<[string, NodeJS.Platform, Partial<ProcessId>, boolean]>([
    ['on Linux, where a socket refuses only once its process has ended', 'linux', {}, false],
    [
      'on macOS, where one with a full queue refuses too, if its process is there',
      'darwin',
      {},
      true,
    ],
    ['on macOS, if its process has ended', 'darwin', { pid: 2 ** 30 }, false],
  ])('with a socket that refuses is judged %s', async (_where, platform, over, alive) => {
    expect(
      await processesOn(platform).isAlive({ ...(await leaveSocket()), ...over }, directory),
    ).toBe(alive);
  });

  it('cannot have a file removed by what it writes into its lock', async () => {
    const mine = join(directory, 'mine');
    await writeFile(mine, '');
    const life = await nodeProcesses.live(directory, 'f'.repeat(32));
    await life.end();
    for (const socket of ['mine', '../mine', `.${'0'.repeat(32)}.sock/../mine`]) {
      await writeFile(`${path}.lock`, JSON.stringify({ id: 'id', ...life.process, socket }));
      await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
        code: 'journal_locked',
        details: { pid: 0 },
      });
    }
    expect(await readdir(directory)).toContain('mine');
  });
});

describe('a second path to the file', () => {
  it('is refused if it is a hard link, until one of the two is gone', async () => {
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    const second = join(directory, 'second.jsonl');
    await link(path, second);
    await expect(journalOf(second).used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('It has 2 names (hard links)'),
    });
    expect(await first.reserve(attemptOf({ id: 'two' }), [])).toBeUndefined();
    await first.close();
    await unlink(path);
    expect(await idsOf(journalOf(second).attempts(OWNER))).toEqual(['one', 'two']);
  });

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

describe('what a file journal leaves on the disk', () => {
  it('is for the eyes of its owner alone, whatever the file was before and whatever the process allows', async () => {
    const first = journalOf();
    await first.reserve(attemptOf(), []);
    await first.close();
    await chmod(path, 0o666);
    const before = process.umask(0);
    try {
      await journalOf().used(OWNER, [], NOW);
    } finally {
      process.umask(before);
    }
    const names = (await readdir(directory)).sort();
    expect(names).toEqual([
      expect.stringMatching(/^\.[0-9a-f]{32}\.sock$/),
      'payments.jsonl',
      'payments.jsonl.lock',
    ]);
    for (const name of names)
      expect((await stat(join(directory, name))).mode & 0o777, name).toBe(0o600);
    expect((await lstat(await socketOf())).isSocket()).toBe(true);
  });
});
