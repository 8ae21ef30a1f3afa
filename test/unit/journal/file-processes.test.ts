import { once } from 'node:events';
import { chmod, link, lstat, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { encodeHeader } from '../../../adapters/journals/file/header.js';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import { nodeProcesses, processesOn } from '../../../adapters/journals/file/processes.js';
import { isProcessId, type ProcessId } from '../../../adapters/journals/log/process-id.js';
import { attemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import { journalFiles } from '../../helpers/journal-files.js';

const OWNER = { wallet: 'wallet', network: 'network' };

let directory: string;
let path: string;
const { contenders, journalOf } = journalFiles((at) => ({ directory, path } = at));

const name = (ending: 'sock' | 'seat') => `.${'0'.repeat(32)}.${ending}`;

/** Has a socket that refuses: what a process that was killed leaves. */
async function leaveSocket(): Promise<ProcessId> {
  const life = await nodeProcesses.live(directory);
  const sign = name('sock');
  await link(join(directory, life.process.sign), join(directory, sign));
  await life.end();
  return { ...life.process, sign };
}

/** Has a plain file: what a process leaves where there are no sockets. */
async function leaveFile(): Promise<ProcessId> {
  const life = await nodeProcesses.live(directory);
  await life.end();
  await writeFile(join(directory, name('seat')), '');
  return { ...life.process, sign: name('seat') };
}

describe('the processes of a file journal', () => {
  it('may be threads: each sees what the other claims, until that was ended', async () => {
    const worker = new Worker(contenders.program.path, { argv: [path, 'one'], stdout: true });
    const [said]: unknown[] = await once(worker.stdout, 'data');
    expect(String(said)).toBe('holds');
    const { claims } = journalOf().coordination(OWNER);
    expect(await claims.live(['one'])).toEqual(new Set(['one']));
    await worker.terminate();
    expect(await claims.live(['one'])).toEqual(new Set());
  });

  it.each<[string, Partial<ProcessId>, string]>([
    ['this kernel', {}, 'ended'],
    ['another kernel, as far as its container says', { kernel: 'another boot' }, 'lives'],
    ['another kernel, elsewhere', { kernel: 'another boot', host: 'another' }, 'unknown'],
    [
      'another kernel, on a file system that both may have',
      { kernel: 'another boot', volume: '77', host: 'another' },
      'unknown',
    ],
    [
      'this kernel, on a file system that is mounted twice',
      { volume: '77', host: 'another' },
      'unknown',
    ],
    ['this kernel, under an id that is used again', { volume: '77', start: 'long ago' }, 'ended'],
    ['this host, under an id that no process has', { volume: '77', pid: 2 ** 30 }, 'ended'],
  ])(
    'of which one has a socket that refuses, and ran on %s, are judged by what can be known',
    async (_, over, verdict) => {
      const isLocal = (await leaveSocket()).volume?.startsWith('local') === true;
      await unlink(join(directory, name('sock')));
      const other = { ...(await leaveSocket()), ...over };
      // A disk that one kernel has to itself was taken over with all that is on it.
      const isOver = over.kernel !== undefined && over.volume === undefined && isLocal;
      expect(await nodeProcesses.judge(other, directory)).toBe(isOver ? 'ended' : verdict);
    },
  );

  it.each<[string, Partial<ProcessId>, string]>([
    ['here', {}, 'lives'],
    ['here, under an id that is used again', { start: 'long ago' }, 'ended'],
    ['here, under an id that no process has', { pid: 2 ** 30 }, 'ended'],
    ['elsewhere', { host: `not ${hostname()}` }, 'unknown'],
  ])(
    'of which one has no socket, and ran %s, are judged by what can be known',
    async (_, over, verdict) => {
      expect(await nodeProcesses.judge({ ...(await leaveFile()), ...over }, directory)).toBe(
        verdict,
      );
    },
  );

  it.each<[string, NodeJS.Platform, Partial<ProcessId>, string]>([
    ['on Linux, where a socket refuses only once its process has ended', 'linux', {}, 'ended'],
    [
      'on macOS, where one with a full queue refuses too, if its process is there',
      'darwin',
      {},
      'lives',
    ],
    ['on macOS, if its process has ended', 'darwin', { pid: 2 ** 30 }, 'ended'],
  ])('of which one has a socket that refuses are judged %s', async (_, platform, over, verdict) => {
    const processes = processesOn(platform);
    expect(await processes.judge({ ...(await leaveSocket()), ...over }, directory)).toBe(verdict);
  });

  it('are refused if another one may live of which nothing can be seen, until its sign was taken away', async () => {
    const other = { ...(await leaveFile()), host: 'another' };
    const header = encodeHeader();
    const line = encodeLine(header.length, JSON.stringify([other.id, { seat: other }]));
    await writeFile(path, Buffer.concat([header, line]));
    await expect(journalOf().used(OWNER, [], NOW)).rejects.toMatchObject({
      code: 'journal_locked',
      details: { path, pid: other.pid },
      message: expect.stringContaining(`remove ${other.sign} beside the journal`),
    });
    await unlink(join(directory, other.sign));
    expect(await journalOf().used(OWNER, [], NOW)).toEqual([]);
  });

  it('cannot have a file removed by what one says of itself', async () => {
    const { process } = await nodeProcesses.live(directory);
    for (const sign of ['mine', '../mine', `.${'0'.repeat(32)}.sock/../mine`])
      expect(isProcessId({ ...process, sign })).toBe(false);
    expect(isProcessId(process)).toBe(true);
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

  it('is none if a process was killed that had just made it', async () => {
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    await first.close();
    await link(path, `${path}.${'a'.repeat(32)}`);
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['one']);
    expect((await readdir(directory)).filter((one) => one.endsWith('aa'))).toEqual([]);
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
    expect(names).toEqual([expect.stringMatching(/^\.[0-9a-f]{32}\.sock$/), 'payments.jsonl']);
    for (const one of names)
      expect((await stat(join(directory, one))).mode & 0o777, one).toBe(0o600);
    expect((await lstat(join(directory, names[0]!))).isSocket()).toBe(true);
  });
});
