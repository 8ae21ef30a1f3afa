import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientOptions, PayingRequestInit } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import type { MintSymbol } from 'exact-change-sandbox';
import { build } from 'esbuild';
import { until } from '../../helpers/chain.js';
import { balancesOf, TIMEOUTS, type Buyer, type World } from './world.js';

type Subject = 'swap' | 'signed' | 'answer' | 'settled' | 'other';

/** A place where a child can halt: around a journal write, before a signature, after the answer. */
export type Halt =
  | `${'before' | 'after'} reserve`
  | `${'before' | 'after'} writing ${Subject}`
  | `before signing ${'swap' | 'payment'}`
  | 'after answer';

/** The task of a child. */
export interface Task {
  readonly address: string;
  readonly secretKey: string;
  /** Path of the journal. */
  readonly journal: string;
  readonly url: string;
  readonly init: PayingRequestInit;
  readonly options: ClientOptions;
  readonly halt: Halt | undefined;
}

/** A purchase by a process that is killed during it. */
export interface Doom {
  /** Default: funds that need a swap. */
  readonly funds?: Partial<Record<MintSymbol, string>>;
  readonly base?: string;
  readonly path?: string;
  readonly init?: PayingRequestInit;
  /** Node of the killed process; default: the sandbox's. */
  readonly rpcUrl?: string;
  /** Options of the clients after the kill. */
  readonly options?: ClientOptions;
  /** Where to kill: at a halt, or as soon as the function returns true. */
  readonly at: Halt | (() => boolean | Promise<boolean>);
}

/** The longest time until a child reaches its halt. A loaded machine starts it in many seconds. */
const LIMIT_MS = 100_000;

/**
 * Lets another process buy `purchase`, kills it with SIGKILL, and ends all faults. Returns a buyer
 * with the wallet and the journal that it leaves.
 */
export async function killed(world: World, purchase: string, doom: Doom): Promise<Buyer> {
  const { sandbox } = world;
  const {
    funds = { SOL: '0.5', BONK: '5000000' },
    base = sandbox.apiUrl,
    path = '/usdc',
    init = {},
    options = {},
    rpcUrl = sandbox.rpcUrl,
    at,
  } = doom;
  const wallet = await sandbox.createWallet(funds);
  const initial = await balancesOf(sandbox, wallet.address);
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-matrix-'));
  world.onClose(() => rm(directory, { recursive: true, force: true }));
  const task: Task = {
    ...wallet,
    journal: join(directory, 'payments.jsonl'),
    url: `${base}${path}?purchase=${purchase}`,
    init,
    options: { rpcUrl, wsUrl: sandbox.wsUrl, jupiterUrl: sandbox.jupiterUrl, timeouts: LONG },
    halt: typeof at === 'string' ? at : undefined,
  };
  const file = join(directory, 'buyer.cjs');
  await writeFile(file, await program());
  const child = spawn(process.execPath, [file, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
  });
  let told = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (told += data.toString()));
  try {
    await until(
      'the child is where the test kills it',
      async () => {
        if (child.exitCode !== null)
          throw new Error(`The child ended before it could be killed: ${told}`);
        const isThere = typeof at === 'string' ? told.split('\n').includes('halted') : await at();
        return isThere ? true : undefined;
      },
      LIMIT_MS,
    );
  } catch (cause) {
    throw new Error(`The child said: ${told}`, { cause });
  } finally {
    await kill(child);
  }
  if (child.signalCode !== 'SIGKILL') throw new Error(`The child was not killed: ${told}`);
  await world.heal();
  world.untold = true;
  const journal = fileJournal(task.journal);
  world.onClose(() => journal.close());
  return world.adopt(wallet, initial, purchase, { ...options, journal });
}

/** Long timeouts, so that a hanging peer holds the child until the kill. */
const LONG = Object.fromEntries(Object.keys(TIMEOUTS).map((name) => [name, LIMIT_MS]));

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await ended;
}

let built: Promise<Uint8Array> | undefined;

/** Returns the child as a bundle, which starts faster than many files. */
function program(): Promise<Uint8Array> {
  return (built ??= bundle());
}

async function bundle(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./buyer.child.ts', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
    // The package name leads to its source, as in tests.
    alias: { 'exact-change': fileURLToPath(new URL('../../../src/index.ts', import.meta.url)) },
  });
  return outputFiles[0]!.contents;
}
