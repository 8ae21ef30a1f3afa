import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import { journalFiles } from '../../helpers/journal-files.js';

// Uses namespaces of Linux, which not every system grants to a user. So `.ci/run` runs this file,
// and `npm test` does not.

const OWNER = { wallet: 'wallet', network: 'network' };

let directory: string;
let path: string;
const { contenders, journalOf } = journalFiles((at) => ({ directory, path } = at));

const socketsIn = async (place: string) =>
  (await readdir(place)).filter((name) => name.endsWith('.sock'));
const claimsAt = (file?: string) => journalOf(file).coordination(OWNER).claims;

describe('containers that mount one directory', () => {
  it('share its journal, and the claims of a killed container are free at once', async () => {
    const ids = Array.from({ length: 6 }, (_, index) => `of ${index}`);
    // Each contender is process 1 of its own namespace.
    const started = await Promise.all(ids.map((id) => contenders.startContained(path, id)));
    expect(started.map(({ said }) => said)).toEqual(started.map(() => 'holds'));
    const claims = claimsAt();
    expect(await claims.live(ids)).toEqual(new Set(ids));
    for (const contender of started.slice(0, 3)) await contender.kill();
    expect(await claims.live(ids)).toEqual(new Set(ids.slice(3)));
    const next = await contenders.startContained(path, 'next');
    expect([next.said, await claims.live([...ids, 'next'])]).toEqual([
      'holds',
      new Set([...ids.slice(3), 'next']),
    ]);
    expect((await idsOf(journalOf().attempts(OWNER))).sort()).toEqual(['next', ...ids]);
  });

  it('share its journal when each has its own boot id', async () => {
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
      const contender = await contenders.startBooted(path, first, 'one');
      expect(await readFile(path, 'utf8')).toContain('"kernel":"11111111-');
      expect([contender.said, (await contenders.startBooted(path, second, 'two')).said]).toEqual([
        'holds',
        'holds',
      ]);
      expect(await claimsAt().live(['one', 'two'])).toEqual(new Set(['one', 'two']));
      await contender.kill();
      expect(await claimsAt().live(['one', 'two'])).toEqual(new Set(['two']));
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it('find each other when the path is too long for a socket address', async () => {
    const deep = join(directory, 'd'.repeat(120));
    await mkdir(deep);
    const far = join(deep, 'payments.jsonl');
    const first = await contenders.startContained(far, 'first');
    expect([first.said, (await contenders.startContained(far, 'second')).said]).toEqual([
      'holds',
      'holds',
    ]);
    expect(await socketsIn(deep)).toHaveLength(2);
    await first.kill();
    expect(await claimsAt(far).live(['first', 'second'])).toEqual(new Set(['second']));
    expect((await idsOf(journalOf(far).attempts(OWNER))).sort()).toEqual(['first', 'second']);
  });

  it('keep the claims of a stopped container, even when its socket queue is full', async () => {
    const stopped = await contenders.startContained(path, 'stopped');
    process.kill(stopped.pid, 'SIGSTOP');
    const [name = 'none'] = await socketsIn(directory);
    const connections: Socket[] = [];
    const refusals = new Set<unknown>();
    // More connections than the kernel queues.
    for (let count = 0; count < 600; count += 1) {
      const socket = connect({ path: join(directory, name) });
      connections.push(socket);
      await new Promise<void>((resolve) => {
        socket.once('connect', resolve);
        socket.once('error', (error: NodeJS.ErrnoException) => {
          refusals.add(error.code);
          resolve();
        });
      });
    }
    expect([...refusals]).toEqual(['EAGAIN']);
    const claims = claimsAt();
    // The stopped process keeps its claims, and other processes do not wait for it.
    expect(await claims.live(['stopped'])).toEqual(new Set(['stopped']));
    expect(await journalOf().reserve(attemptOf(), [])).toBeUndefined();
    for (const socket of connections) socket.destroy();
    await stopped.kill();
    expect(await claims.live(['stopped'])).toEqual(new Set());
  });
});

describe('a second path to a journal file', () => {
  it('is refused when the file itself is mounted there', async () => {
    const at = join(directory, 'elsewhere', 'payments.jsonl');
    await mkdir(join(directory, 'elsewhere'));
    await writeFile(at, '');
    const first = journalOf();
    await first.reserve(attemptOf({ id: 'one' }), []);
    await first.close();
    const before = await readFile(path);
    expect((await contenders.startMounted(path, at)).said).toContain(
      'The file itself is mounted there',
    );
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(join(directory, 'elsewhere'))).toEqual(['payments.jsonl']);
    expect(await journalOf().used(OWNER, [], NOW)).toEqual([]);
  });
});
