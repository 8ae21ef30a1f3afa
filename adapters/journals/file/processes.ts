import { randomBytes } from 'node:crypto';
import { readFile, readlink, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill, pid, platform } from 'node:process';
import type { ProcessId } from '../log/process-id.js';
import { hasCode } from './disk.js';
import { knock, listenIn, look } from './socket.js';
import { isLocal, volumeOf } from './volume.js';

const isSocket = ({ sign }: ProcessId) => sign.endsWith('.sock');

/** A process that can be seen to live. */
export interface Life {
  readonly process: ProcessId;
  end(): Promise<void>;
}

/** `unknown`: it may live where nothing can be seen of it. */
export type Verdict = 'lives' | 'ended' | 'unknown';

/** What the journal asks of the operating system. */
export interface Processes {
  /** Lets other processes that see a directory see that this one lives. */
  live(directory: string): Promise<Life>;
  judge(process: ProcessId, directory: string): Promise<Verdict>;
  /** Removes what a process that has ended left in a directory. */
  clear(process: ProcessId, directory: string): Promise<void>;
}

export const nodeProcesses: Processes = processesOn(platform);

/** The processes of this machine, by the rules of a system. */
export function processesOn(system: NodeJS.Platform): Processes {
  return {
    async live(directory) {
      const id = randomBytes(16).toString('hex');
      const [status, host, boot, volume] = await Promise.all([
        statusOf(pid),
        hostOf(),
        bootOf(),
        volumeOf(directory),
      ]);
      const kernel = kernelOf(boot, system);
      const socket = kernel === undefined ? undefined : await listenIn(directory, `.${id}.sock`);
      const file = `.${id}.seat`;
      if (socket === undefined) await writeFile(join(directory, file), '', { mode: 0o600 });
      const process: ProcessId = {
        ...{ id, pid },
        ...(status === undefined ? {} : { start: `${boot ?? ''} ${status.ticks}` }),
        host,
        ...(kernel === undefined ? {} : { kernel }),
        volume,
        sign: socket === undefined ? file : `.${id}.sock`,
      };
      const end = socket?.close ?? (() => unlink(join(directory, file)).catch(() => undefined));
      return { process, end };
    },
    async judge(other, directory) {
      const [boot, volume] = await Promise.all([bootOf(), volumeOf(directory)]);
      const answer = await (isSocket(other) ? knock : look)(directory, other.sign);
      if (answer === 'accepts') return 'lives';
      // It removed it; or a person did that knows it to be gone; or this is a copy of its journal.
      if (answer === 'gone') return 'ended';
      if (!isSocket(other) || !isOfOneKernel(other, kernelOf(boot, system), volume))
        return mayRun(other, boot);
      // A full queue is told from an ended process by Linux alone.
      if (answer === 'refuses' && system !== 'linux') return mayRun(other, boot);
      return answer === 'unknown' ? 'lives' : 'ended';
    },
    clear: (other, directory) => unlink(join(directory, other.sign)),
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
): Promise<Verdict> {
  if (host !== (await hostOf())) return 'unknown';
  if (!exists(other)) return 'ended';
  const status = await statusOf(other);
  if (status === undefined) return 'lives';
  const isSame = start === undefined || start === `${boot ?? ''} ${status.ticks}`;
  return !status.ended && isSame ? 'lives' : 'ended';
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
