import * as fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { nodeDisk } from '../../../adapters/journals/file/disk.js';
import { historyAt } from '../../../adapters/journals/file/history.js';
import { openLog } from '../../../adapters/journals/file/log.js';
import type { Verdict } from '../../../adapters/journals/file/processes.js';
import { fullAttemptOf, NOW } from '../../helpers/attempts.js';
import { fakeProcesses, MemoryDisk } from '../../helpers/memory-disk.js';

/** More files than the tests close, so that one of them gets the number of each closed file. */
const OTHERS = 32;

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'closed-'));
  path = join(directory, 'payments.jsonl');
});
afterEach(() => rm(directory, { recursive: true }));

/** Opens other files of the program, and returns a function that reads them all. */
function openOthers(): () => string {
  const names = Array.from({ length: OTHERS }, (_, index) => join(directory, `other-${index}`));
  const others = names.map((name) => fs.openSync(name, 'a+'));
  onTestFinished(() => others.forEach((other) => fs.closeSync(other)));
  return () => names.map((name) => fs.readFileSync(name, 'utf8')).join('');
}

it('touches no other file by the number of a file that it has closed', async () => {
  const file = nodeDisk.create(path);
  file.append(Buffer.from('own'));
  file.close();
  const readOthers = openOthers();
  const closed = /closed/;
  expect(() => file.append(Buffer.from('bytes'))).toThrow(closed);
  expect(() => file.truncate(0)).toThrow(closed);
  expect(() => file.read(new Uint8Array(3), 0)).toThrow(closed);
  expect(() => file.size()).toThrow(closed);
  expect(() => file.id()).toThrow(closed);
  expect(() => file.names()).toThrow(closed);
  expect(() => file.makePrivate()).toThrow(closed);
  await expect(file.sync()).rejects.toThrow(closed);
  expect(() => file.close()).toThrow(closed);
  expect(readOthers()).toBe('');
  expect(fs.readFileSync(path, 'utf8')).toBe('own');
});

it('writes nothing after it was closed while it judged a process that has ended', async () => {
  const processes = fakeProcesses();
  const options = { disk: nodeDisk, compactFrom: 1_000_000, recent: 0 };
  const first = await openLog(path, { ...options, processes: processes.as(1) });
  let answer = (_verdict: Verdict): void => undefined;
  let isHeld = false;
  const second = await openLog(path, {
    ...options,
    processes: {
      ...processes.as(2),
      judge: async () => (isHeld ? new Promise<Verdict>((resolve) => (answer = resolve)) : 'lives'),
    },
  });
  isHeld = true;
  const living = second.living([first.me]);
  await second.close();
  const journal = fs.readFileSync(path, 'utf8');
  const readOthers = openOthers();
  answer('ended');
  expect(await living).toEqual(new Set());
  expect(readOthers()).toBe('');
  expect(fs.readFileSync(path, 'utf8')).toBe(journal);
  await first.close();
});

describe('a reader of the history when the journal closes', () => {
  const MADE = [1, 2].map((made) => ({ made, attempt: fullAttemptOf({ id: `attempt ${made}` }) }));
  const closed = { code: 'journal_unavailable', retry: 'never' };

  /** Returns a disk with a history, and a reader of it that has not begun. */
  async function reader() {
    const disk = new MemoryDisk();
    const writer = historyAt('/history', disk.port());
    const { length } = await writer.append(0, MADE, NOW);
    writer.close();
    const history = historyAt('/history', disk.port());
    return { disk, history, attempts: history.attempts(length, undefined, -Infinity) };
  }

  it('ends with the error of a closed journal', async () => {
    const { disk, history, attempts } = await reader();
    const ids: string[] = [];
    const read = async () => {
      for await (const { attempt } of attempts) {
        ids.push(attempt.id);
        history.close();
      }
    };
    await expect(read()).rejects.toMatchObject(closed);
    expect(ids).toEqual(['attempt 1']);
    expect(disk.openFiles).toBe(0);
  });

  it('opens no file that would stay open', async () => {
    const { disk, history, attempts } = await reader();
    history.close();
    const read = async () => {
      for await (const { attempt } of attempts) throw new Error(`It read ${attempt.id}.`);
    };
    await expect(read()).rejects.toMatchObject(closed);
    expect(disk.openFiles).toBe(0);
  });
});
