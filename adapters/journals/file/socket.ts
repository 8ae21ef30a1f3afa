import { chmod, lstat, open, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { hasCode } from '../../../src/internal/error-code.js';

/**
 * Bytes that `sun_path` holds on every system, without the zero at its end (macOS has 104, Linux
 * 108). Systems cut off a longer path silently.
 */
const LONGEST_ADDRESS = 103;
const OWNER_ONLY = 0o600;

/**
 * A socket in a directory, on which this process listens. Once the process has ended, the kernel
 * refuses connections to the socket.
 */
export interface LifeSocket {
  close(): Promise<void>;
}

/** Listens on a socket. Undefined if the system or file system has no sockets with a path. */
export async function listenIn(directory: string, name: string): Promise<LifeSocket | undefined> {
  const path = join(directory, name);
  const server = createServer((connection) => void connection.destroy());
  const listen = (address: string) =>
    new Promise<void>((resolve, reject) => {
      // Keep this listener: a later error, such as a failed accept, must not end the process.
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
    // The mode can be set only after `listen`. Until then, another user can connect, and no more.
    await chmod(path, OWNER_ONLY);
    // On some file systems the socket cannot be reached by its path: a refusal would prove nothing.
    if ((await connectOnce(directory, name)) !== 'accepts')
      throw new Error('It cannot be reached.');
    return { close };
  } catch {
    await close();
    return undefined;
  }
}

/**
 * The kernel's answer for a socket. `accepts`: a process listens. `refuses`: no process listens; on
 * other systems than Linux, the process may also have a full queue. `gone`: there is no socket.
 * `unknown`: nothing is certain.
 */
export type Answer = 'accepts' | 'refuses' | 'gone' | 'unknown';

/** Connects to a socket in a directory, once. */
export async function connectOnce(directory: string, name: string): Promise<Answer> {
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
    // Without /proc a long path has no address, so ENOENT does not prove that the socket is gone.
    return hasCode(error, 'ENOENT') && (await inodeOf(join(directory, name))) === undefined
      ? 'gone'
      : 'unknown';
  }
}

/** Returns `gone` if a directory has no file of a name, else `unknown`. */
export async function fileExists(directory: string, name: string): Promise<Answer> {
  return (await inodeOf(join(directory, name))) === undefined ? 'gone' : 'unknown';
}

/**
 * Calls `work` with an address of the socket that is short enough: its path, or on Linux an address
 * through the open directory.
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
