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

/**
 * Where a child can be made to stop: around a write of the journal, before it signs, and before its
 * caller has the answer.
 */
export type Halt =
  | `${'before' | 'after'} reserve`
  | `${'before' | 'after'} writing ${Subject}`
  | `before signing ${'swap' | 'payment'}`
  | 'after answer';

/** What a child is to do. */
export interface Task {
  readonly address: string;
  readonly secretKey: string;
  /** Of the journal. */
  readonly journal: string;
  readonly url: string;
  readonly init: PayingRequestInit;
  readonly options: ClientOptions;
  readonly halt: Halt | undefined;
}

/** A purchase by a process that is killed in the middle of it. */
export interface Doom {
  /** Unset: what needs a swap to buy. */
  readonly funds?: Partial<Record<MintSymbol, string>>;
  readonly base?: string;
  readonly path?: string;
  readonly init?: PayingRequestInit;
  /** Of the process that is killed; the sandbox's unless set. */
  readonly rpcUrl?: string;
  /** Of the clients that come after it. */
  readonly options?: ClientOptions;
  /** Where it is killed: a place of its own, or as soon as this is true. */
  readonly at: Halt | (() => boolean | Promise<boolean>);
}

/** How long a child may take to get there. */
const LIMIT_MS = 30_000;

/**
 * Lets another process buy `purchase`, kills it with SIGKILL, ends all faults, and gives the wallet
 * and the journal that it leaves behind.
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
  const given = await balancesOf(sandbox, wallet.address);
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
      'the child is where it is to be killed',
      async () => {
        if (child.exitCode !== null)
          throw new Error(`The child ended before it could be killed: ${told}`);
        const there = typeof at === 'string' ? told.split('\n').includes('halted') : await at();
        return there ? true : undefined;
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
  return world.adopt(wallet, given, purchase, { ...options, journal });
}

/** A peer that hangs is to hold the child for longer than it takes to kill it. */
const LONG = Object.fromEntries(Object.keys(TIMEOUTS).map((name) => [name, LIMIT_MS]));

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await ended;
}

let built: Promise<Uint8Array> | undefined;

/** The child as one file, which starts faster than many. */
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
    // The package's own name, as tests have it: its source.
    alias: { 'exact-change': fileURLToPath(new URL('../../../src/index.ts', import.meta.url)) },
  });
  return outputFiles[0]!.contents;
}
