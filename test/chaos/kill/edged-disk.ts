import type { Attempt } from 'exact-change';
import type { Disk, OpenFile } from '../../../adapters/journals/file/disk.js';
import { wordFor, type Edges } from './edges.js';

/** What a file is for: its path says it, and another path makes it another. */
interface Use {
  name: string;
}

/**
 * A disk that passes an edge before and after each change: files go by their use, what is written
 * into a journal by what it says.
 */
export function edgedDisk(disk: Disk, edges: Edges): Disk {
  const uses = new Map<string, Use>();
  const around = async <T>(edge: string, work: () => Promise<T>): Promise<T> => {
    edges.pass(`disk ${edge} before`);
    const result = await work();
    edges.pass(`disk ${edge} after`);
    return result;
  };
  const edged = (path: string, file: OpenFile): OpenFile => {
    const use = { name: useOf(path) };
    uses.set(path, use);
    let written = 'nothing';
    return {
      ...file,
      async write(bytes, position) {
        written = use.name === 'lock' ? 'lock' : contentOf(bytes);
        edges.pass(`disk write ${written} before`);
        // The process ends in the middle of it: a part is there, and no caller was told.
        await edges.passWith(`disk write ${written} torn`, () =>
          file.write(bytes.subarray(0, bytes.length / 2), position),
        );
        await file.write(bytes, position);
        edges.pass(`disk write ${written} after`);
      },
      truncate: (length) => around(`truncate ${use.name}`, () => file.truncate(length)),
      sync: () => around(`sync ${written}`, () => file.sync()),
    };
  };
  const moved = async (verb: 'link' | 'rename', from: string, to: string): Promise<void> => {
    await around(`${verb} ${useOf(to)}`, () => disk[verb](from, to));
    const use = uses.get(from);
    if (use !== undefined) use.name = useOf(to);
  };
  return {
    ...disk,
    open: async (path) => edged(path, await disk.open(path)),
    create: (path) =>
      around(`create ${useOf(path)}`, async () => edged(path, await disk.create(path))),
    link: (from, to) => moved('link', from, to),
    rename: (from, to) => moved('rename', from, to),
    unlink: (path) => around(`unlink ${useOf(path)}`, () => disk.unlink(path)),
    syncDirectory: (path) => around('sync directory', () => disk.syncDirectory(path)),
  };
}

function useOf(path: string): string {
  const [, suffix] = /\.jsonl(?:\.(lock|compact))?/.exec(path) ?? [];
  return suffix === 'compact' ? 'draft' : (suffix ?? 'journal');
}

/** A line is a checksum of 8 digits, a space and JSON. */
function contentOf(bytes: Uint8Array): string {
  const lines = new TextDecoder().decode(bytes).trimEnd().split('\n');
  if (lines.length > 1) return 'all anew';
  const [first]: { put?: Attempt; release?: string }[] = [
    JSON.parse((lines[0] ?? '').slice('00000000 '.length)),
  ].flat();
  if (first?.put !== undefined) return wordFor(first.put);
  return first?.release === undefined ? 'header' : 'release';
}
