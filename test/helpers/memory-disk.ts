import type { Disk, OpenFile } from '../../adapters/journals/file/disk.js';
import type { Life, Processes } from '../../adapters/journals/file/processes.js';
import type { ProcessId } from '../../adapters/journals/log/process-id.js';

interface Node {
  readonly inode: bigint;
  /** Bytes that a reader gets. */
  data: Uint8Array;
  /** Bytes that remain after a power failure. */
  synced: Uint8Array;
}

/** Called before each disk call of a process, with the name of the call and the file's path. */
export type Step = (call: string, path: string) => void;

/**
 * A disk with a single directory, in memory. A power failure erases all data that was not synced,
 * and a test can make calls fail.
 */
export class MemoryDisk {
  private names: Map<string, Node>;
  private syncedNames: Map<string, Node>;
  private static lastInode = 0n;
  /** Number of files that processes opened and did not close. */
  openFiles = 0;

  constructor(names: ReadonlyMap<string, Node> = new Map()) {
    this.names = new Map(names);
    this.syncedNames = new Map(names);
  }

  /** Files by path, with the bytes that a reader gets. */
  get files(): ReadonlyMap<string, Uint8Array> {
    return new Map([...this.names].map(([name, { data }]) => [name, data]));
  }

  put(path: string, data: Uint8Array): void {
    const node = { inode: (MemoryDisk.lastInode += 1n), data, synced: data };
    this.names.set(path, node);
    this.syncedNames.set(path, node);
  }

  delete(path: string): void {
    this.names.delete(path);
    this.syncedNames.delete(path);
  }

  /** Returns a copy of the disk as it is after all processes were killed, or the power failed. */
  after(what: 'kill' | 'power failure'): MemoryDisk {
    const copies = new Map<Node, Node>();
    const copy = (node: Node): Node => {
      const data = what === 'kill' ? node.data : node.synced;
      const copied = copies.get(node) ?? { inode: node.inode, data, synced: data };
      copies.set(node, copied);
      return copied;
    };
    return new MemoryDisk(
      new Map(
        [...(what === 'kill' ? this.names : this.syncedNames)].map(([name, node]) => [
          name,
          copy(node),
        ]),
      ),
    );
  }

  /**
   * Returns the disk as a process sees it.
   *
   * @param step - Called before each disk call. If it throws, the call fails; a failed append has
   *   written the first half of its bytes.
   */
  port(step: Step = () => undefined): Disk {
    const at = (path: string): Node => {
      const node = this.names.get(path);
      if (node === undefined) throw failure('ENOENT');
      return node;
    };
    const assertMissing = (path: string) => {
      if (this.names.has(path)) throw failure('EEXIST');
    };
    return {
      open: (path) => {
        step('open', path);
        return this.openNode(at(path), path, step);
      },
      create: (path) => {
        step('create', path);
        assertMissing(path);
        const node = {
          inode: (MemoryDisk.lastInode += 1n),
          data: new Uint8Array(),
          synced: new Uint8Array(),
        };
        this.names.set(path, node);
        return this.openNode(node, path, step);
      },
      link: (from, to) => {
        step('link', to);
        const node = at(from);
        assertMissing(to);
        this.names.set(to, node);
      },
      rename: (from, to) => {
        step('rename', to);
        const node = at(from);
        // rename(2): if both paths are names of the same file, both names stay.
        if (this.names.get(to) === node) return;
        this.names.set(to, node);
        this.names.delete(from);
      },
      unlink: (path) => {
        step('unlink', path);
        at(path);
        this.names.delete(path);
      },
      identify: (path) => {
        step('identify', path);
        return { device: 1n, inode: at(path).inode };
      },
      list: (path) => {
        step('list', path);
        return [...this.names.keys()].map((name) => name.slice(name.lastIndexOf('/') + 1));
      },
      realpath: (path) => path,
      readlink: () => undefined,
      syncDirectory: async (path) => {
        step('syncDirectory', path);
        this.syncedNames = new Map(this.names);
      },
    };
  }

  private openNode(node: Node, path: string, before: Step): OpenFile {
    this.openFiles += 1;
    let isOpen = true;
    const step: Step = (call, place) => {
      if (!isOpen) throw failure('EBADF');
      before(call, place);
    };
    return {
      id: () => {
        step('id', path);
        return { device: 1n, inode: node.inode };
      },
      names: () => {
        step('names', path);
        return [...this.names.values()].filter((other) => other === node).length;
      },
      makePrivate: () => undefined,
      size: () => {
        step('size', path);
        return node.data.length;
      },
      read: (into, position) => {
        step('read', path);
        const part = node.data.subarray(position, position + into.length);
        into.set(part);
        return part.length;
      },
      append: (bytes) => {
        const put = (part: Uint8Array) => {
          const next = new Uint8Array(node.data.length + part.length);
          next.set(node.data);
          next.set(part, node.data.length);
          node.data = next;
        };
        try {
          step('append', path);
        } catch (error) {
          if (isOpen) put(bytes.subarray(0, bytes.length >> 1));
          throw error;
        }
        put(bytes);
      },
      truncate: (length) => {
        step('truncate', path);
        node.data = node.data.slice(0, length);
      },
      sync: async () => {
        step('sync', path);
        node.synced = node.data;
      },
      close: () => {
        if (!isOpen) throw failure('EBADF');
        // As on Linux: the descriptor is free even if close(2) fails.
        this.openFiles -= 1;
        isOpen = false;
        before('close', path);
      },
    };
  }
}

export function failure(code: string): Error {
  return Object.assign(new Error(`${code}: the disk says no`), { code });
}

let lives = 0;

/** Returns processes that live until a test ends them. */
export function fakeProcesses(): { as(pid: number): Processes; end(pid: number): void } {
  const ended = new Set<number>();
  return {
    as: (pid) => ({
      live: async (): Promise<Life> => ({
        process: processOf(pid),
        end: async () => undefined,
      }),
      judge: async (process) => (ended.has(process.pid) ? 'ended' : 'lives'),
      clear: async () => undefined,
    }),
    end: (pid) => void ended.add(pid),
  };
}

/** Returns a new process id, as the operating system would report it. */
export function processOf(pid: number): ProcessId {
  const id = (lives += 1).toString(16).padStart(32, '0');
  return { id, pid, start: `start of ${pid}`, host: 'host', sign: `.${id}.sock` };
}
