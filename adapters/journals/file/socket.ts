import { chmod, lstat, open, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { hasCode } from './disk.js';

/**
 * Bytes: what `sun_path` holds on every system, without the zero at its end (macOS has 104, Linux
 * 108). A longer path is cut off silently.
 */
const LONGEST_ADDRESS = 103;
const OWNER_ONLY = 0o600;

/**
 * A socket in a directory, on which this process listens. The kernel refuses connections to it once
 * the process has ended.
 */
export interface LifeSocket {
  close(): Promise<void>;
}

/**
 * Undefined if this system, or this file system, has no sockets that a process can reach by a path.
 */
export async function listenIn(directory: string, name: string): Promise<LifeSocket | undefined> {
  const path = join(directory, name);
  const server = createServer((connection) => void connection.destroy());
  const listen = (address: string) =>
    new Promise<void>((resolve, reject) => {
      // It stays: what fails later, such as taking a connection, must not end the process.
      server.on('error', reject);
      // Exclusive: a worker of a cluster would hand its socket to the primary, which outlives it.
      server.listen({ path: address, exclusive: true }, resolve);
    });
  const close = async () => {
    await new Promise((resolve) => server.close(resolve));
    await unlink(path).catch(() => undefined);
  };
  try {
    await atAddress(directory, name, listen);
    server.unref();
    // Only after listening can its mode be set. Until then the worst that another user can do is
    // connect.
    await chmod(path, OWNER_ONLY);
    // A file system may take a socket and not lead back to it: a refusal would prove nothing.
    if ((await knock(directory, name)) !== 'accepts') throw new Error('It cannot be reached.');
    return { close };
  } catch {
    await close();
    return undefined;
  }
}

/**
 * What the kernel says of a socket. `accepts`: a process listens on it. `refuses`: none does; on
 * other systems than Linux also, if more wait for that process than it has room for. `gone`: it is
 * not there. `unknown`: nothing for certain.
 */
export type Answer = 'accepts' | 'refuses' | 'gone' | 'unknown';

/** Connects to a socket in a directory, once. */
export async function knock(directory: string, name: string): Promise<Answer> {
  const connected = (address: string) =>
    new Promise<void>((resolve, reject) => {
      const connection = connect({ path: address }, () => {
        connection.destroy();
        resolve();
      });
      connection.once('error', reject);
    });
  try {
    await atAddress(directory, name, connected);
    return 'accepts';
  } catch (error) {
    if (hasCode(error, 'ECONNREFUSED')) return 'refuses';
    // The address may be missing although the socket is there: without /proc, a long path has none.
    return hasCode(error, 'ENOENT') && (await inodeOf(join(directory, name))) === undefined
      ? 'gone'
      : 'unknown';
  }
}

/** Whether there is anything under a name in a directory. */
export async function look(directory: string, name: string): Promise<Answer> {
  return (await inodeOf(join(directory, name))) === undefined ? 'gone' : 'unknown';
}

/**
 * Works with an address of a socket that is short enough: its path, or else one by way of its open
 * directory, which Linux has.
 */
async function atAddress(
  directory: string,
  name: string,
  work: (address: string) => Promise<void>,
): Promise<void> {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= LONGEST_ADDRESS) return work(path);
  const handle = await open(directory, 'r');
  try {
    await work(`/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

async function inodeOf(path: string): Promise<bigint | undefined> {
  try {
    return (await lstat(path, { bigint: true })).ino;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
