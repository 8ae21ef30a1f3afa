import { once } from 'node:events';
import { chmod, link, lstat, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import {
  nodeProcesses,
  processesOn,
  type ProcessId,
} from '../../../adapters/journals/file/processes.js';
import { attemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import { journalFiles } from '../../helpers/journal-files.js';

const OWNER = { wallet: 'wallet', network: 'network' };

let directory: string;
let path: string;
const { contenders, journalOf } = journalFiles((at) => ({ directory, path } = at));

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
