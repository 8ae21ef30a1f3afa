import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { ChildTask, Message } from './task.js';

/** A child that runs longer than this hangs. */
const LIMIT_MS = 110_000;
const LOOK_MS = 2;

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const launcher = source('./launcher.mjs');

/** The exit of a child, and its messages. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly messages: readonly Message[];
  /** Text on stderr. */
  readonly errors: string;
}

/** The child, bundled into a file that starts fast. */
export interface ChildProgram {
  /** Directory for the journals. */
  readonly directory: string;
  /**
   * Runs the child until it ends or is killed.
   *
   * @param isTime - Kills the child from here when it returns true: for edges that only peers see.
   */
  run(task: ChildTask, isTime?: () => Promise<boolean>): Promise<Ended>;
  remove(): Promise<void>;
}

export async function buildChild(): Promise<ChildProgram> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-kill-'));
  const program = join(directory, 'child.cjs');
  await build({
    entryPoints: [fileURLToPath(new URL('./child.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // Each child reads the whole file, so keep it small.
    minifyWhitespace: true,
    // The launcher runs the file as a vm.Script, which has no import().
    supported: { 'dynamic-import': false },
    logLevel: 'error',
    // Names that tests import lead to their sources.
    alias: {
      'exact-change/journal/file': source('../../../adapters/journals/file.ts'),
      'exact-change': source('../../../src/index.ts'),
    },
  });
  return {
    directory,
    run: (task, isTime) => run(program, task, isTime),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

async function run(
  program: string,
  task: ChildTask,
  isTime: (() => Promise<boolean>) | undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, [launcher, program, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {},
    timeout: LIMIT_MS,
  });
  // The stdio option above makes these streams pipes.
  const [, stdout, stderr, told] = child.stdio as [
    null,
    Readable,
    Readable,
    Readable,
    ...unknown[],
  ];
  stdout.resume();
  let over = false;
  const closed = new Promise<[number | null, string | null]>((resolve) =>
    child.on('close', (...end) => resolve(end)),
  );
  const ended = Promise.all([closed.finally(() => (over = true)), textOf(stderr), textOf(told)]);
  if (isTime !== undefined) {
    while (!over && !(await isTime())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    child.kill('SIGKILL');
  }
  const [[code, signal], errors, text] = await ended;
  const lines = text.split('\n').filter((line) => line !== '');
  // The child writes each line as a Message.
  return { code, signal, messages: lines.map((line) => JSON.parse(line) as Message), errors };
}

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
