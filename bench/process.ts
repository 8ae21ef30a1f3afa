import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Folder of the bench's build, which equals the published package without types. */
export const BUILD = fileURLToPath(new URL('dist', import.meta.url));

/** Commands of a child process. Arguments and results are cloned by structured clone. */
type Commands = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Usage of a process so far: CPU milliseconds, and memory in bytes. */
export interface Usage {
  readonly cpuMs: number;
  readonly rss: number;
  readonly peak: number;
}

export interface Child<C extends Commands> {
  readonly call: <N extends keyof C & string>(
    name: N,
    ...args: Parameters<C[N]>
  ) => Promise<Awaited<ReturnType<C[N]>>>;
  readonly usage: () => Promise<Usage>;
  /** Resolves when the process has ended. */
  readonly end: () => Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/**
 * Starts a file of this folder in a separate process, with its own CPU time and event loop.
 *
 * @param core - CPU core to which the process is bound by `taskset`; only on Linux.
 */
export function start<C extends Commands>(
  file: string,
  { flags = [], core }: { readonly flags?: readonly string[]; readonly core?: number } = {},
): Child<C> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, {
    execArgv: [...process.execArgv, ...flags],
    env: { ...process.env, TSX_TSCONFIG_PATH: `${BUILD}/tsconfig.json` },
    serialization: 'advanced',
  });
  const waiting = new Map<number, (reply: Reply) => void>();
  child.on('message', (reply: Reply) => waiting.get(reply.id)?.(reply));
  child.on('exit', (code) => {
    for (const [id, settle] of waiting) settle({ id, error: `${file} ended with ${code}.` });
  });
  if (core !== undefined && process.platform === 'linux')
    execFileSync('taskset', ['-acp', String(core), String(child.pid)], { stdio: 'ignore' });
  let last = 0;
  const ask = (name: string, args: readonly unknown[] = []) =>
    new Promise<unknown>((resolve, reject) => {
      const id = (last += 1);
      waiting.set(id, ({ value, error }) => {
        waiting.delete(id);
        if (error === undefined) resolve(value);
        else reject(new Error(`${file} ${name}: ${error}`));
      });
      child.send({ id, name, args });
    });
  return {
    // The child answers with the result of the named command.
    call: (name, ...args) => ask(name, args) as Promise<Awaited<ReturnType<C[typeof name]>>>,
    usage: () => ask('usage') as Promise<Usage>,
    async end() {
      if (child.exitCode !== null) return;
      const exit = once(child, 'exit');
      if (child.connected) child.disconnect();
      await exit;
    },
  };
}

/** Runs the commands of the parent in a child process, and ends with the parent. */
export function answer(commands: Commands): void {
  const known: Commands = { ...commands, usage };
  const run = async (name: string, args: never[]): Promise<unknown> => known[name]?.(...args);
  // Ignore a failed send, because the parent may have ended.
  const reply = (message: Reply) => process.send?.(message, undefined, {}, () => undefined);
  process.on('message', ({ id, name, args }: { id: number; name: string; args: never[] }) => {
    run(name, args).then(
      (value) => reply({ id, value }),
      (error: unknown) =>
        reply({ id, error: (error instanceof Error && error.stack) || String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
}

function usage(): Usage {
  const { maxRSS } = process.resourceUsage();
  return { cpuMs: cpuMs(), rss: process.memoryUsage.rss(), peak: maxRSS * 1_024 };
}

/** Returns the CPU milliseconds of this process. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
