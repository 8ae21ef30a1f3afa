import { randomBytes } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { hasCode } from './disk.js';

/** A process, so that no other is taken for it. */
export interface ProcessId {
  readonly pid: number;
  /** When it started, where the system tells: process ids are used again. */
  readonly start?: string;
  /** Where its id means something: the host and, where the system tells, the process namespace (each container has its own). */
  readonly host: string;
}

/** What the lock asks of the operating system. */
export interface Processes {
  self(): Promise<ProcessId>;
  /** Whether it may still run. What cannot be told counts as running. */
  isAlive(process: ProcessId): Promise<boolean>;
  /** A name that nobody else has. */
  token(): string;
}

export const nodeProcesses: Processes = {
  async self() {
    const status = await statusOf(pid);
    return { pid, ...(status === undefined ? {} : { start: status.start }), host: await hostOf() };
  },
  async isAlive({ pid: other, start, host }) {
    if (host !== (await hostOf())) return true;
    if (!exists(other)) return false;
    const status = await statusOf(other);
    if (status === undefined) return true;
    return !status.ended && (start === undefined || start === status.start);
  },
  token: () => randomBytes(16).toString('hex'),
};

function exists(other: number): boolean {
  try {
    kill(other, 0);
    return true;
  } catch (error) {
    // It is there, and another user's.
    return !hasCode(error, 'ESRCH');
  }
}

/** Linux alone tells, in proc(5): field 3 is the state, field 22 the start in clock ticks since this boot. */
async function statusOf(other: number): Promise<{ readonly start: string; readonly ended: boolean } | undefined> {
  try {
    const [text, boot] = await Promise.all([readFile(`/proc/${other}/stat`, 'utf8'), readFile('/proc/sys/kernel/random/boot_id', 'utf8')]);
    // The second field is the program's name in brackets, and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    return state === undefined || ticks === undefined ? undefined : { start: `${boot.trim()} ${ticks}`, ended: /^[ZX]$/.test(state) };
  } catch {
    return undefined;
  }
}

async function hostOf(): Promise<string> {
  const space = await readlink('/proc/self/ns/pid').catch(() => '');
  return `${hostname()} ${space}`.trim();
}
