import type { Attempt } from 'exact-change';
import type { Disk, OpenFile } from '../../../adapters/journals/file/disk.js';
import { wordFor, type Edges } from './edges.js';

/** The use of an open file, by its path; a rename changes it. */
interface Use {
  name: string;
}

/**
 * Wraps a disk so that it passes an edge before and after each change. Edges name a file by its
 * use, and a write into a journal by its content.
 */
export function edgedDisk(disk: Disk, edges: Edges): Disk {
  const uses = new Map<string, Use>();
  const around = <T>(edge: string, work: () => T): T => {
    edges.pass(`disk ${edge} before`);
    const result = work();
    edges.pass(`disk ${edge} after`);
    return result;
  };
  const aroundSync = async (edge: string, sync: () => Promise<void>): Promise<void> => {
    edges.pass(`disk ${edge} before`);
    await sync();
    edges.pass(`disk ${edge} after`);
  };
  const edged = (path: string, file: OpenFile): OpenFile => {
    const use = { name: useOf(path) };
    uses.set(path, use);
    let written = 'nothing';
    return {
      ...file,
      append(bytes) {
        written = use.name === 'history' ? 'history' : contentOf(bytes);
        edges.pass(`disk write ${written} before`);
        // The process dies within the write: half of it is on disk, and no caller got a result.
        edges.passWith(`disk write ${written} torn`, () =>
          file.append(bytes.subarray(0, bytes.length / 2)),
        );
        file.append(bytes);
        edges.pass(`disk write ${written} after`);
      },
      truncate: (length) => around(`truncate ${use.name}`, () => file.truncate(length)),
      sync: () => aroundSync(`sync ${written}`, () => file.sync()),
    };
  };
  return {
    ...disk,
    open: (path) => edged(path, disk.open(path)),
    create: (path) => around(`create ${useOf(path)}`, () => edged(path, disk.create(path))),
    link: (from, to) => around(`link ${useOf(to)}`, () => disk.link(from, to)),
    rename(from, to) {
      around(`rename ${useOf(to)}`, () => disk.rename(from, to));
      const use = uses.get(from);
      if (use !== undefined) use.name = useOf(to);
    },
    unlink: (path) => around(`unlink ${useOf(path)}`, () => disk.unlink(path)),
    syncDirectory: (path) => aroundSync('sync directory', () => disk.syncDirectory(path)),
  };
}

/** Returns the use of a path. `copy`: the rewritten journal. `draft`: a temporary name of it. */
function useOf(path: string): string {
  const [, suffix] = /\.jsonl\.(.*)$/.exec(path) ?? [];
  if (suffix === undefined) return 'journal';
  if (suffix === 'compact') return 'copy';
  return suffix === 'history' ? suffix : 'draft';
}

/** Returns the content of a write in a word. A line is a line feed, three fields and JSON. */
function contentOf(bytes: Uint8Array): string {
  const [header, ...lines] = new TextDecoder().decode(bytes).split('\n');
  if (header !== '') return 'header';
  if (lines.length > 1) return 'all anew';
  const [, ...records] = JSON.parse((lines[0] ?? '').replace(/^([0-9a-f]+ ){3}/, '')) as [
    string,
    ...{ readonly put?: Attempt }[],
  ];
  const put = records.find((record) => record.put !== undefined)?.put;
  if (put !== undefined) return wordFor(put);
  const names = records.flatMap((record) => Object.keys(record));
  return names.find((name) => name !== 'synced') ?? 'nothing';
}
