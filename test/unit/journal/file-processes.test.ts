import { once } from 'node:events';
import fs from 'node:fs';
import { chmod, link, lstat, readdir, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { nodeDisk } from '../../../adapters/journals/file/disk.js';
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

/** Leaves a socket that refuses connections, as a killed process does. */
async function leaveSocket(): Promise<ProcessId> {
  const life = await nodeProcesses.live(directory);
  const sign = name('sock');
  await link(join(directory, life.process.sign), join(directory, sign));
  await life.end();
  return { ...life.process, sign };
}

/** Leaves a plain file, as a process does on a system without sockets. */
async function leaveFile(): Promise<ProcessId> {
  const life = await nodeProcesses.live(directory);
  await life.end();
  await writeFile(join(directory, name('seat')), '');
  return { ...life.process, sign: name('seat') };
}

describe('a process of a file journal', () => {
  it('sees the claims of another thread until the thread ends', async () => {
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
    ['another kernel that has the same host name', { kernel: 'another boot' }, 'lives'],
    ['another kernel of another host', { kernel: 'another boot', host: 'another' }, 'unknown'],
    [
      'another kernel, on a file system that both kernels may mount',
      { kernel: 'another boot', volume: '77', host: 'another' },
      'unknown',
    ],
    [
      'this kernel, on a file system that is mounted twice',
      { volume: '77', host: 'another' },
      'unknown',
    ],
    [
      'this kernel, under a process id that is in use again',
      { volume: '77', start: 'long ago' },
      'ended',
    ],
    ['this host, under a process id that no process has', { volume: '77', pid: 2 ** 30 }, 'ended'],
  ])(
    'judges by the known facts if another process lives when its socket refuses and it ran on %s',
    async (_, over, verdict) => {
      const isLocal = (await leaveSocket()).volume?.startsWith('local') === true;
      await unlink(join(directory, name('sock')));
      const other = { ...(await leaveSocket()), ...over };
      // A disk that only one kernel uses was taken over with its signs, so their processes ended.
      const isOver = over.kernel !== undefined && over.volume === undefined && isLocal;
      expect(await nodeProcesses.judge(other, directory)).toBe(isOver ? 'ended' : verdict);
    },
  );

  it.each<[string, Partial<ProcessId>, string]>([
    ['here', {}, 'lives'],
    ['here, under a process id that is in use again', { start: 'long ago' }, 'ended'],
    ['here, under a process id that no process has', { pid: 2 ** 30 }, 'ended'],
    ['elsewhere', { host: `not ${hostname()}` }, 'unknown'],
  ])(
    'judges by the known facts if another process lives when it has no socket and ran %s',
    async (_, over, verdict) => {
      expect(await nodeProcesses.judge({ ...(await leaveFile()), ...over }, directory)).toBe(
        verdict,
      );
    },
  );

  it.each<[string, NodeJS.Platform, Partial<ProcessId>, string]>([
    [
      'as ended on Linux, because a socket refuses only after its process ends',
      'linux',
      {},
      'ended',
    ],
    [
      'as alive on macOS if its process exists, because a socket with a full queue refuses too',
      'darwin',
      {},
      'lives',
    ],
    ['as ended on macOS if its process has ended', 'darwin', { pid: 2 ** 30 }, 'ended'],
  ])('judges another process with a refusing socket %s', async (_, platform, over, verdict) => {
    const processes = processesOn(platform);
    expect(await processes.judge({ ...(await leaveSocket()), ...over }, directory)).toBe(verdict);
  });

  it.each<[string, Partial<ProcessId>, string]>([
    ['as ended if no process has its id', { pid: 2 ** 30 }, 'ended'],
    ['as ended if its id is in use again', { start: 'long ago' }, 'ended'],
    ['as alive if its process exists', {}, 'lives'],
    ['as alive if it ran in another container', { pid: 2 ** 30, host: 'another' }, 'lives'],
  ])('judges a process whose socket this user cannot reach %s', async (_, over, verdict) => {
    const other = { ...(await leaveSocket()), ...over };
    const socket = join(directory, other.sign);
    await unlink(socket);
    // Nor can root reach it through a link to itself.
    await symlink(other.sign, socket);
    expect(await nodeProcesses.judge(other, directory)).toBe(verdict);
  });

  it.each(['the judge', 'the judged process'])(
    'judges a process as alive if %s has no file descriptor to read its boot',
    async (unread) => {
      const read = fs.promises.readFile;
      const out = vi.spyOn(fs.promises, 'readFile');
      const limit = (isOut: boolean) =>
        out.mockImplementation((path, ...rest) =>
          isOut && String(path).endsWith('boot_id')
            ? Promise.reject(new Error('EMFILE'))
            : read(path, ...rest),
        );
      syncBuiltinESMExports();
      onTestFinished(() => {
        vi.restoreAllMocks();
        syncBuiltinESMExports();
      });
      limit(unread === 'the judged process');
      const other = await leaveFile();
      limit(unread === 'the judge');
      expect(await nodeProcesses.judge(other, directory)).toBe('lives');
    },
  );

  it('gets no access while a process on another host may live, until the sign of that process is removed', async () => {
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

  it('is invalid if its sign names a file that is not a sign, because signs get removed', async () => {
    const { process } = await nodeProcesses.live(directory);
    for (const sign of ['mine', '../mine', `.${'0'.repeat(32)}.sock/../mine`])
      expect(isProcessId({ ...process, sign })).toBe(false);
    expect(isProcessId(process)).toBe(true);
  });
});

describe('a second path to the file', () => {
  it('is refused if it is a hard link, until either link is removed', async () => {
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

  it('is removed if a killed process left it as a temporary link', async () => {
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    await first.close();
    await link(path, `${path}.${'a'.repeat(32)}`);
    expect(await idsOf(journalOf().attempts(OWNER))).toEqual(['one']);
    expect((await readdir(directory)).filter((entry) => entry.endsWith('aa'))).toEqual([]);
  });
});

describe('each file that a file journal leaves', () => {
  it('is readable by its owner alone, whatever its mode was and whatever the umask allows', async () => {
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
    for (const file of names)
      expect((await stat(join(directory, file))).mode & 0o777, file).toBe(0o600);
    expect((await lstat(join(directory, names[0]!))).isSocket()).toBe(true);
  });

  it.each<[string, number, boolean]>([
    ['belongs to the owner of the journal if root makes it', 0, true],
    ['belongs to its maker if its maker is not root', 1, false],
  ])('%s', async (_, user, isGiven) => {
    const give = vi.spyOn(fs, 'fchownSync').mockReturnValue(undefined);
    vi.spyOn(process, 'geteuid').mockReturnValue(user);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    await writeFile(path, '');
    const { uid, gid } = await stat(path);
    for (const file of [`${path}.compact`, `${path}.history`, join(directory, 'new.id')])
      nodeDisk.create(file).close();
    const given = give.mock.calls.map(([, ...owner]) => owner);
    expect(given).toEqual(isGiven ? Array(2).fill([uid, gid]) : []);
  });
});
