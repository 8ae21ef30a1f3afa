import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal, type FileJournal } from 'exact-change/journal/file';
import { afterEach, beforeEach } from 'vitest';
import { createContenders } from './contenders.js';

/** The path of a test's journal, and the directory that contains only this journal. */
export interface JournalPlace {
  readonly directory: string;
  readonly path: string;
}

/**
 * Makes file journals, and processes that compete for them. After each test it closes the journals,
 * ends the processes and removes the files. Call it once, at the top of a test file.
 *
 * @param place - Called before each test with the place of its journal.
 */
export function journalFiles(place: (at: JournalPlace) => void) {
  const open = new Set<FileJournal>();
  const contenders = createContenders();
  let directory = '';
  let path = '';

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'journal-'));
    path = join(directory, 'payments.jsonl');
    place({ directory, path });
  });

  afterEach(async () => {
    await contenders.killAll();
    for (const journal of open) await journal.close();
    open.clear();
    await rm(directory, { recursive: true });
  });

  const closeLater = (journal: FileJournal) => {
    open.add(journal);
    return journal;
  };
  return { contenders, closeLater, journalOf: (file = path) => closeLater(fileJournal(file)) };
}
