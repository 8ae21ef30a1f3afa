import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programOf } from './program.js';

/** Arguments: the path of the journal, and the id of the attempt that it reserves. */
const CHILD = fileURLToPath(new URL('./file-journal.child.ts', import.meta.url));
const CONTAINED = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];

/** A process that tried to open a file journal, and keeps it open until the process is killed. */
export interface Contender {
  /** Output of the process: `holds`, `locked by <pid>`, or its error. */
  readonly said: string;
  /** Process id outside of the process's own namespace. */
  readonly pid: number;
  /** Sends SIGKILL, and resolves when the process has ended. */
  kill(): Promise<void>;
}

/**
 * Starts processes in this pid namespace, or each in a namespace of its own as process 1.
 * Call it at the top of a test file, and `killAll` when the tests are over.
 */
export function createContenders() {
  const program = programOf(CHILD);
  const node = () => [process.execPath, program.path];
  const contenders = new Set<Contender>();
  const start = async (command: readonly string[], isInner: boolean): Promise<Contender> => {
    const [program = '', ...options] = command;
    const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'] });
    const stderr: unknown[] = [];
    child.stderr.on('data', (text) => stderr.push(text));
    const exit = once(child, 'exit');
    const failed = exit.then(() =>
      Promise.reject(new Error(`${command.join(' ')} ended: ${stderr.join('')}`)),
    );
    const [chunk]: unknown[] = await Promise.race([once(child.stdout, 'data'), failed]);
    const pid = isInner ? childOf(child) : (child.pid ?? 0);
    const contender: Contender = {
      said: String(chunk).trim(),
      pid,
      async kill() {
        contenders.delete(contender);
        process.kill(pid, 'SIGKILL');
        await exit;
      },
    };
    contenders.add(contender);
    return contender;
  };
  return {
    start: (path: string) => start([...node(), path], false),
    /** Starts a process in a pid namespace of its own, like a container. Works without root. */
    startContained: (path: string, id = 'contained') =>
      start([...CONTAINED, ...node(), path, id], true),
    /** Does the same with another boot id: the content of the file at `boot`. */
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
    /** Starts a process that opens the journal through a bind mount of the file at `at`. */
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
      for (const contender of [...contenders]) await contender.kill();
    },
  };
}

function childOf({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
