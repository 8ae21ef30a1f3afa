import { shareNext } from '../../../src/internal/share-next.js';
import type { OpenFile } from './disk.js';
import type { Tail } from './tail.js';

/** Brings the bytes and the name of a file to the disk itself. */
export interface Syncs {
  /** Resolves once all bytes written so far are on the disk. One sync serves all waiting calls. */
  sync(): Promise<void>;
  /** Syncs the name of the file: before, a power failure could bring back the previous file. */
  names(): Promise<void>;
  /** Resolves once the running sync has ended, so that its file can be closed. */
  over(): Promise<void>;
}

export function createSyncs(
  tail: Pick<Tail, 'file' | 'end' | 'synced'>,
  syncNames: () => Promise<void>,
  rewrite: () => Promise<void>,
): Syncs {
  /** The file with a name that is on the disk. */
  let named: OpenFile | undefined;
  /** The file of a failed sync: its earlier writes may be lost, even if a later sync succeeds. */
  let broken: OpenFile | undefined;
  let syncing: Promise<void> = Promise.resolve();

  const names = async (): Promise<void> => {
    const { file } = tail;
    await syncNames();
    named = file;
  };
  const syncOnce = async (): Promise<void> => {
    if (broken === tail.file) await rewrite();
    // A rewrite may replace the file meanwhile, so sync names until the current file has its name.
    while (named !== tail.file) await names();
    const { file, end } = tail;
    if (broken === file) throw new Error('An earlier write did not get to the disk.');
    try {
      await (syncing = file.sync());
    } catch (error) {
      broken = file;
      throw error;
    }
    tail.synced(file, end);
  };

  return {
    sync: shareNext(syncOnce),
    names,
    over: () => syncing.catch(() => undefined),
  };
}
