import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal, type FileJournal } from 'exact-change/journal/file';
import { afterEach, beforeEach } from 'vitest';
import { createContenders } from './contenders.js';

/** Where the journal of one test is, and a directory of its own around it. */
export interface JournalPlace {
  readonly directory: string;
  readonly path: string;
}

/**
 * Journals in files, and processes that want one of them too. After each test all are closed, ended
 * and removed. To be called once, at the top of a file of tests.
 *
 * @param place - Told before each test where it is.
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
