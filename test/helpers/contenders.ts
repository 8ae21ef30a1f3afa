import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programOf } from './program.js';

/** Takes the path, and the id of what it reserves. */
const CHILD = fileURLToPath(new URL('./file-journal.child.ts', import.meta.url));
const CONTAINED = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];

/**
 * A process that has tried to get the journal of a file, and keeps what it got until it is killed.
 */
export interface Contender {
  /** `holds`, `locked by <pid>`, or the error that it met. */
  readonly said: string;
  /** Its id outside of its namespace. */
  readonly pid: number;
  /** Ends it with SIGKILL, and resolves once it has ended. */
  kill(): Promise<void>;
}

/**
 * Starts processes, in this pid namespace or each in one of its own (where it is process 1), and
 * ends all of them. To be called at the top of a file of tests.
 */
export function createContenders() {
  const program = programOf(CHILD);
  const node = () => [process.execPath, program.path];
  const all = new Set<Contender>();
  const start = async (command: readonly string[], isInner: boolean): Promise<Contender> => {
    const [program = '', ...options] = command;
    const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'] });
    const complaints: unknown[] = [];
    child.stderr.on('data', (text) => complaints.push(text));
    const exit = once(child, 'exit');
    const failed = exit.then(() =>
      Promise.reject(new Error(`${command.join(' ')} ended: ${complaints.join('')}`)),
    );
    const [chunk]: unknown[] = await Promise.race([once(child.stdout, 'data'), failed]);
    const pid = isInner ? childOf(child) : (child.pid ?? 0);
    const contender: Contender = {
      said: String(chunk).trim(),
      pid,
      async kill() {
        all.delete(contender);
        process.kill(pid, 'SIGKILL');
        await exit;
      },
    };
    all.add(contender);
    return contender;
  };
  return {
    start: (path: string) => start([...node(), path], false),
    /** As a container is to its host. Works without root. */
    startContained: (path: string, id = 'contained') =>
      start([...CONTAINED, ...node(), path, id], true),
    /** As a container whose system gives it a boot id of its own: what the file at `boot` says. */
    startBooted: (path: string, boot: string, id = 'booted') =>
      start(
        [
          ...CONTAINED,
          'sh',
          '-c',
          'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"',
          boot,
          ...node(),
          path,
          id,
        ],
        true,
      ),
    /** Sees the file at a second path, at which the file itself is mounted. */
    startMounted: (path: string, at: string) =>
      start(
        [
          ...'unshare --user --map-root-user --mount sh -c'.split(' '),
          'mount --bind "$0" "$1" && shift && exec "$@"',
          path,
          at,
          ...node(),
          at,
        ],
        false,
      ),
    program,
    async killAll() {
      for (const contender of [...all]) await contender.kill();
    },
  };
}

function childOf({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
