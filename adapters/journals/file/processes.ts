import { randomBytes } from 'node:crypto';
import { readFile, readlink, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill, pid, platform } from 'node:process';
import { hasCode } from '../../../src/internal/error-code.js';
import type { ProcessId } from '../log/process-id.js';
import { connectOnce, listenIn, fileExists } from './socket.js';
import { isLocal, volumeOf } from './volume.js';

const isSocket = ({ sign }: ProcessId) => sign.endsWith('.sock');

/** This process, and the sign by which other processes see that it lives. */
export interface Life {
  readonly process: ProcessId;
  end(): Promise<void>;
}

/** `unknown`: the process may live on another machine or in another container. */
export type Verdict = 'lives' | 'ended' | 'unknown';

/** The questions of the journal to the operating system. */
export interface Processes {
  /** Puts a sign into a directory, by which other processes see that this process lives. */
  live(directory: string): Promise<Life>;
  judge(process: ProcessId, directory: string): Promise<Verdict>;
  /** Removes the sign of a process that has ended. */
  clear(process: ProcessId, directory: string): Promise<void>;
}

export const nodeProcesses: Processes = processesOn(platform);

/** Returns the processes of this machine, by the rules of a platform. */
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
      const answer = await (isSocket(other) ? connectOnce : fileExists)(directory, other.sign);
      if (answer === 'accepts') return 'lives';
      // The process removed its sign; or a person did, because the process has ended; or this is a
      // copy of its journal.
      if (answer === 'gone') return 'ended';
      if (!isSocket(other) || !isOfOneKernel(other, kernelOf(boot, system), volume))
        return mayRun(other, boot);
      // Only on Linux does a refusal prove an end: elsewhere, a full queue refuses as well.
      if (answer === 'refuses' && system === 'linux') return 'ended';
      const verdict = await mayRun(other, boot);
      // This user may not connect to a socket of another user, which stays if its process is killed.
      return answer === 'unknown' && verdict === 'unknown' ? 'lives' : verdict;
    },
    clear: (other, directory) => unlink(join(directory, other.sign)),
  };
}

/**
 * Whether this kernel is the kernel of another process, or has taken over its disk. On a local file
 * system, different kernel ids prove nothing: some containers have kernel ids of their own.
 */
function isOfOneKernel(other: ProcessId, kernel: string | undefined, volume: string): boolean {
  const isComparable =
    kernel !== undefined && other.kernel !== undefined && volume === other.volume;
  return isComparable && (kernel === other.kernel || isLocal(volume));
}

/** Judges a process by its pid, which means something only in its own namespace. */
async function mayRun(
  { pid: other, start, host }: ProcessId,
  boot: string | undefined,
): Promise<Verdict> {
  if (host !== (await hostOf())) return 'unknown';
  if (!exists(other)) return 'ended';
  const status = await statusOf(other);
  if (status === undefined) return 'lives';
  const [itsBoot, itsTicks] = start?.split(' ') ?? ['', status.ticks];
  // A process that is out of file descriptors cannot read its boot, which then proves nothing.
  const isOtherBoot = itsBoot !== '' && boot !== undefined && itsBoot !== boot;
  const isSame = itsTicks === status.ticks && !isOtherBoot;
  return !status.ended && isSame ? 'lives' : 'ended';
}

function exists(other: number): boolean {
  try {
    kill(other, 0);
    return true;
  } catch (error) {
    // The process exists, and belongs to another user.
    return !hasCode(error, 'ESRCH');
  }
}

/**
 * Returns start and end of a process, as in proc(5). `ticks` is the start in clock ticks since this
 * boot (field 22). `ended` is by the state (field 3). Undefined on other systems than Linux.
 */
async function statusOf(
  other: number,
): Promise<{ readonly ticks: string; readonly ended: boolean } | undefined> {
  try {
    const text = await readFile(`/proc/${other}/stat`, 'utf8');
    // The second field is the program's name in parentheses, and may hold any character.
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
 * Returns the id of this kernel: the boot id, because containers with different host names share a
 * kernel. On Linux without a boot id, the kernel is unknown.
 */
function kernelOf(boot: string | undefined, system: NodeJS.Platform): string | undefined {
  return boot ?? (system === 'linux' ? undefined : hostname());
}

async function hostOf(): Promise<string> {
  const space = await readlink('/proc/self/ns/pid').catch(() => '');
  return `${hostname()} ${space}`.trim();
}
