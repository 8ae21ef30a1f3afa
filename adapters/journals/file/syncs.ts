import { shareNext } from '../../../src/internal/share-next.js';
import type { OpenFile } from './disk.js';
import type { Tail } from './tail.js';

/** What makes sure that a file is on the disk itself. */
export interface Syncs {
  /** Resolves once all that was written by now is there. One sync serves all that wait for it. */
  sync(): Promise<void>;
  /** The same for the name of the file: until then a power failure could bring back the last one. */
  names(): Promise<void>;
  /** Resolves once no file is being synced that has been left. */
  over(): Promise<void>;
}

/** @param rewrite - Writes the file anew, if that can be done. */
export function createSyncs(
  tail: Pick<Tail, 'file' | 'end' | 'synced'>,
  syncNames: () => Promise<void>,
  rewrite: () => Promise<void>,
): Syncs {
  /** The file whose name is on the disk. */
  let named: OpenFile | undefined;
  /** One whose sync failed: what was written before may be lost, whatever the next one says. */
  let broken: OpenFile | undefined;
  let syncing: Promise<void> = Promise.resolve();

  const names = async (): Promise<void> => {
    const { file } = tail;
    await syncNames();
    named = file;
  };
  const once = async (): Promise<void> => {
    if (broken === tail.file) await rewrite();
    // Meanwhile another file may take its place: the one before is closed then.
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
    sync: shareNext(once),
    names,
    over: () => syncing.catch(() => undefined),
  };
}
