import { expect, it } from 'vitest';
import type { OpenFile } from '../../../adapters/journals/file/disk.js';
import { createSyncs } from '../../../adapters/journals/file/syncs.js';

it('syncs the new file when a rewrite replaces the old file while its name is being synced', async () => {
  const synced: string[] = [];
  const fileNamed = (name: string, isClosed = () => false): OpenFile => ({
    ...{ id: () => ({ device: 0n, inode: 0n }), names: () => 1, size: () => 0 },
    ...{ read: () => 0, truncate: () => undefined, close: () => undefined },
    ...{ append: () => undefined, makePrivate: () => undefined },
    sync: () => {
      if (isClosed()) return Promise.reject(new Error(`${name} is closed.`));
      synced.push(name);
      return Promise.resolve();
    },
  });
  const second = fileNamed('the second');
  let file = fileNamed('the first', () => file === second);
  const tail = {
    get file() {
      return file;
    },
    end: 82,
    synced: () => undefined,
  };
  const syncs = createSyncs(
    tail,
    () => {
      // The rewrite replaces the first file and closes it.
      file = second;
      return Promise.resolve();
    },
    () => Promise.resolve(),
  );
  await syncs.sync();
  expect(synced).toEqual(['the second']);
});
