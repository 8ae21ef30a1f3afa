import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Where the package is built for the bench: as it is published, but for its types. */
export const BUILD = fileURLToPath(new URL('dist', import.meta.url));

/** What a child process does on demand. What goes in and comes out is structured-cloned. */
type Commands = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Of a process, so far: milliseconds of one core, and bytes. */
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
  /** Resolves once the process is gone. */
  readonly end: () => Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/**
 * Starts a file beside this one in a process of its own, so that its CPU and its event loop are of
 * it alone.
 *
 * @param core - The core that it is kept to, if the system has `taskset`.
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
    // What a command of the name gives.
    call: (name, ...args) => ask(name, args) as Promise<Awaited<ReturnType<C[typeof name]>>>,
    usage: () => ask('usage') as Promise<Usage>,
    async end() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

/** For the child: does what it is asked to, and ends with its parent. */
export function answer(commands: Commands): void {
  const all: Commands = { ...commands, usage };
  const run = async (name: string, args: never[]): Promise<unknown> => all[name]?.(...args);
  // A parent that is gone wants no reply.
  const reply = (one: Reply) => process.send?.(one, undefined, {}, () => undefined);
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

/** Milliseconds of one core that this process has taken. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
