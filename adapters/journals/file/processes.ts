import { randomBytes } from 'node:crypto';
import { readFile, readlink, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill, pid, platform } from 'node:process';
import { hasCode } from './disk.js';
import { knock, listenIn } from './socket.js';
import { isLocal, volumeOf } from './volume.js';

/** A process, so that no other is taken for it. */
export interface ProcessId {
  readonly pid: number;
  /** When it started, if the system tells: process ids are used again. */
  readonly start?: string;
  /**
   * Where its id means something: the host and, if the system tells, the process namespace (each
   * container has its own).
   */
  readonly host: string;
  /** The kernel that it runs on, since that was started, if the system tells. */
  readonly kernel?: string;
  /** The file system of the directory, as this kernel knows it. */
  readonly volume?: string;
  /** The name of the socket in the directory on which it listens, if there can be one. */
  readonly socket?: string;
}

/** A process that can be seen to live. */
export interface Life {
  readonly process: ProcessId;
  /** Whether other processes still see that it lives. */
  isSeen(): Promise<boolean>;
  end(): Promise<void>;
}

/** What the lock asks of the operating system. */
export interface Processes {
  /** Lets other processes that see a directory see that this one lives. */
  live(directory: string, id: string): Promise<Life>;
  /** Whether a process may still run. What cannot be told counts as running. */
  isAlive(process: ProcessId, directory: string): Promise<boolean>;
  /** Removes what a process that has ended left in a directory. */
  clear(process: ProcessId, directory: string): Promise<void>;
  /** A name that no other process has. */
  token(): string;
}

export const nodeProcesses: Processes = processesOn(platform);

/** The processes of this machine, by the rules of a system. */
export function processesOn(system: NodeJS.Platform): Processes {
  return {
    async live(directory, id) {
      const name = `.${id}.sock`;
      const [status, host, boot, volume] = await Promise.all([
        statusOf(pid),
        hostOf(),
        bootOf(),
        volumeOf(directory),
      ]);
      const kernel = kernelOf(boot, system);
      const socket = kernel === undefined ? undefined : await listenIn(directory, name);
      const process: ProcessId = {
        pid,
        ...(status === undefined ? {} : { start: `${boot ?? ''} ${status.ticks}` }),
        host,
        ...(kernel === undefined ? {} : { kernel }),
        volume,
        ...(socket === undefined ? {} : { socket: name }),
      };
      return {
        process,
        isSeen: () => socket?.isThere() ?? Promise.resolve(true),
        end: () => socket?.close() ?? Promise.resolve(),
      };
    },
    async isAlive(other, directory) {
      const [boot, volume] = await Promise.all([bootOf(), volumeOf(directory)]);
      const answer = other.socket === undefined ? 'unknown' : await knock(directory, other.socket);
      if (answer === 'accepts') return true;
      if (other.socket === undefined || !isOfOneKernel(other, kernelOf(boot, system), volume))
        return mayRun(other, boot);
      // A full queue is told from an ended process by Linux alone.
      if (answer === 'refuses' && system !== 'linux') return mayRun(other, boot);
      return answer === 'unknown';
    },
    clear: async (other, directory) => {
      if (other.socket !== undefined) await unlink(join(directory, other.socket));
    },
    token: () => randomBytes(16).toString('hex'),
  };
}

/**
 * Whether the kernel that is asked here is the one on which a process listens, or has taken the
 * disk over from it. Two ids of a kernel prove nothing on a file system that one kernel has to
 * itself: some containers are given ids of their own.
 */
function isOfOneKernel(other: ProcessId, kernel: string | undefined, volume: string): boolean {
  const isComparable =
    kernel !== undefined && other.kernel !== undefined && volume === other.volume;
  return isComparable && (kernel === other.kernel || isLocal(volume));
}

/** By its id, which means something only in its own namespace. */
async function mayRun(
  { pid: other, start, host }: ProcessId,
  boot: string | undefined,
): Promise<boolean> {
  if (host !== (await hostOf())) return true;
  if (!exists(other)) return false;
  const status = await statusOf(other);
  if (status === undefined) return true;
  return !status.ended && (start === undefined || start === `${boot ?? ''} ${status.ticks}`);
}

function exists(other: number): boolean {
  try {
    kill(other, 0);
    return true;
  } catch (error) {
    // It is there, and another user's.
    return !hasCode(error, 'ESRCH');
  }
}

/**
 * Linux alone tells, in proc(5): field 3 is the state, field 22 the start in clock ticks since this
 * boot.
 */
async function statusOf(
  other: number,
): Promise<{ readonly ticks: string; readonly ended: boolean } | undefined> {
  try {
    const text = await readFile(`/proc/${other}/stat`, 'utf8');
    // The second field is the program's name in brackets, and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    return state === undefined || ticks === undefined
      ? undefined
      : { ticks, ended: /^[ZX]$/.test(state) };
  } catch {
    return undefined;
  }
}

async function bootOf(): Promise<string | undefined> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return text.trim() || undefined;
}

/**
 * Containers share a kernel whatever their names are. Without an id of this boot, the kernel of a
 * Linux is not known.
 */
function kernelOf(boot: string | undefined, system: NodeJS.Platform): string | undefined {
  return boot ?? (system === 'linux' ? undefined : hostname());
}

async function hostOf(): Promise<string> {
  const space = await readlink('/proc/self/ns/pid').catch(() => '');
  return `${hostname()} ${space}`.trim();
}
