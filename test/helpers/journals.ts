import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { onTestFinished } from 'vitest';
import { createDatabase } from './database.js';

/** Kinds of journals that run in Node. */
export const JOURNALS = ['memory', 'file', 'Postgres'] as const;
/** Kinds of journals that exist only in browsers; `test/browser` tests them. */
export const JOURNALS_OF_BROWSER_TESTS = ['indexeddb'];
export type JournalKind = (typeof JOURNALS)[number];

/** Makes an empty journal of a kind for a test, and closes and removes it after the test. */
export async function journalOf(kind: JournalKind): Promise<Journal> {
  if (kind === 'memory') return memoryJournal();
  if (kind === 'Postgres') {
    const journal = postgresJournal({ connectionString: await createDatabase() });
    onTestFinished(() => journal.close());
    return journal;
  }
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-journal-'));
  const journal = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await journal.close();
    await rm(directory, { recursive: true });
  });
  return journal;
}
