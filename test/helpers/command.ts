import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from 'exact-change-sandbox';
import { afterAll, afterEach } from 'vitest';
import { programOf } from './program.js';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /**
   * Resolves with the output so far as soon as it matches the text. Rejects if the process ends
   * without a match.
   */
  printed(text: string | RegExp): Promise<string>;
  type(text: string): void;
  readonly ended: Promise<Ended>;
}

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** The command line program, with temporary folders for its settings and journal. */
export interface Command {
  readonly folder: string;
  /** Path of the program file. */
  readonly path: string;
  /** Environment variables of every run; tests may add to them. */
  readonly env: Record<string, string>;
  /** Runs the command to its end. */
  run(args: readonly string[], options?: Options): Promise<Ended>;
  /** Runs the command with `--json`, and also returns the object that it prints. */
  json(args: readonly string[], options?: Options): Promise<Ended & { readonly object: Printed }>;
  start(args: readonly string[], options?: Options): Running;
  /** Starts the command on a terminal, so all output arrives on standard output. */
  onTerminal(args: readonly string[], options?: Options): Running;
}

export interface Printed {
  readonly ok: boolean;
  readonly funds: string;
  readonly exit: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly [name: string]: unknown;
}

/**
 * Builds the command before the tests of a file. Call it at the top of that file.
 *
 * @param installed - Path of an installed package's bin. Default: a build of the sources.
 */
export function useCommand(sandbox?: Sandbox, installed?: string): Command {
  const program =
    installed === undefined
      ? programOf(fileURLToPath(new URL('../../adapters/cli/bin.ts', import.meta.url)))
      : { path: installed };
  const folder = mkdtempSync(join(tmpdir(), 'exact-change-command-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const children: ChildProcess[] = [];
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_STATE_HOME: join(folder, 'state'),
    ...(sandbox && { SOLANA_RPC_URL: sandbox.rpcUrl, JUPITER_URL: sandbox.jupiterUrl }),
  };
  const launch = (
    command: string,
    args: readonly string[],
    { env: more = {}, input }: Options = {},
  ): Running => {
    const child = spawn(command, args, { cwd: folder, env: { ...env, ...more } });
    children.push(child);
    if (input !== undefined) child.stdin.end(input);
    return running(child);
  };
  const start: Command['start'] = (args, options) =>
    launch(process.execPath, [program.path, ...args], options);
  const run: Command['run'] = (args, options) => {
    const command = start(args, { input: '', ...options });
    return command.ended;
  };
  return {
    ...{ folder, env, start, run },
    get path() {
      return program.path;
    },
    async json(args, options) {
      const ended = await run(['--json', ...args], options);
      return { ...ended, object: JSON.parse(ended.stdout) as Printed };
    },
    onTerminal(args, options) {
      const line = [process.execPath, program.path, ...args].map(quoted).join(' ');
      // Without a width, the terminal would break each line after a letter.
      return launch('script', ['-qec', `stty cols 100; ${line}`, '/dev/null'], options);
    },
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function running(child: ChildProcess): Running {
  let [stdout, stderr] = ['', ''];
  const waiting = new Set<() => void>();
  const notify = (): void => waiting.forEach((look) => look());
  child.stdout?.on('data', (chunk: Buffer) => ((stdout += chunk.toString()), notify()));
  child.stderr?.on('data', (chunk: Buffer) => ((stderr += chunk.toString()), notify()));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return {
    child,
    ended,
    type: (text) => void child.stdin?.write(text),
    printed(text) {
      const found = () => {
        const output = stdout + stderr;
        return typeof text === 'string' ? output.includes(text) : text.test(output);
      };
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (!found()) return;
          waiting.delete(look);
          resolve(stdout + stderr);
        };
        waiting.add(look);
        look();
        void ended.then(() =>
          found() ? undefined : reject(new Error(`It ended before: ${stdout}${stderr}`)),
        );
      });
    },
  };
}
