import type { Disk, OpenFile } from '../../adapters/journals/file/disk.js';
import type { Life, Processes } from '../../adapters/journals/file/processes.js';
import type { ProcessId } from '../../adapters/journals/log/process-id.js';

interface Node {
  readonly inode: bigint;
  /** What a reader gets. */
  data: Uint8Array;
  /** What a power failure leaves of it. */
  synced: Uint8Array;
}

/** What a process asks of the disk: the name of the call and the file. */
export type Step = (call: string, path: string) => void;

/**
 * A disk of one directory, in memory, which forgets at a power failure what was not synced, and
 * fails if a test says so.
 */
export class MemoryDisk {
  private names: Map<string, Node>;
  private syncedNames: Map<string, Node>;
  private static made = 0n;

  constructor(names: ReadonlyMap<string, Node> = new Map()) {
    this.names = new Map(names);
    this.syncedNames = new Map(names);
  }

  /** The files as they stand. */
  get files(): ReadonlyMap<string, Uint8Array> {
    return new Map([...this.names].map(([name, { data }]) => [name, data]));
  }

  put(path: string, data: Uint8Array): void {
    const node = { inode: (MemoryDisk.made += 1n), data, synced: data };
    this.names.set(path, node);
    this.syncedNames.set(path, node);
  }

  delete(path: string): void {
    this.names.delete(path);
    this.syncedNames.delete(path);
  }

  /** The same disk after all processes were killed, or after the power was gone. */
  after(what: 'kill' | 'power failure'): MemoryDisk {
    const copies = new Map<Node, Node>();
    const copy = (node: Node): Node => {
      const data = what === 'kill' ? node.data : node.synced;
      const made = copies.get(node) ?? { inode: node.inode, data, synced: data };
      copies.set(node, made);
      return made;
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
   * The disk as one process sees it.
   *
   * @param step - Runs before each call. An append that it fails has written the first half.
   */
  port(step: Step = () => undefined): Disk {
    const at = (path: string): Node => {
      const node = this.names.get(path);
      if (node === undefined) throw failure('ENOENT');
      return node;
    };
    const free = (path: string) => {
      if (this.names.has(path)) throw failure('EEXIST');
    };
    return {
      open: (path) => {
        step('open', path);
        return this.openNode(at(path), path, step);
      },
      create: (path) => {
        step('create', path);
        free(path);
        const node = {
          inode: (MemoryDisk.made += 1n),
          data: new Uint8Array(),
          synced: new Uint8Array(),
        };
        this.names.set(path, node);
        return this.openNode(node, path, step);
      },
      link: (from, to) => {
        step('link', to);
        const node = at(from);
        free(to);
        this.names.set(to, node);
      },
      rename: (from, to) => {
        step('rename', to);
        const node = at(from);
        // As rename(2) has it: two names of one file both stay.
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
      syncDirectory: async (path) => {
        step('syncDirectory', path);
        this.syncedNames = new Map(this.names);
      },
    };
  }

  private openNode(node: Node, path: string, step: Step): OpenFile {
    return {
      id: () => {
        step('id', path);
        return { device: 1n, inode: node.inode };
      },
      names: () => {
        step('names', path);
        return [...this.names.values()].filter((one) => one === node).length;
      },
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
          put(bytes.subarray(0, bytes.length >> 1));
          throw error;
        }
        put(bytes);
        return bytes.length;
      },
      truncate: (length) => {
        step('truncate', path);
        node.data = node.data.slice(0, length);
      },
      sync: async () => {
        step('sync', path);
        node.synced = node.data;
      },
      close: () => step('close', path),
    };
  }
}

export function failure(code: string): Error {
  return Object.assign(new Error(`${code}: the disk says no`), { code });
}

let lives = 0;

/** Processes that live as long as a test says. */
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

/** A process that a system tells of. */
export function processOf(pid: number): ProcessId {
  const id = (lives += 1).toString(16).padStart(32, '0');
  return { id, pid, start: `start of ${pid}`, host: 'host', sign: `.${id}.sock` };
}
