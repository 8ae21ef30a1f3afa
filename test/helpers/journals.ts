import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startPostgres, type Postgres } from './postgres.js';

/** Kinds of journals that run in Node. */
export const JOURNALS = ['memory', 'file', 'Postgres'] as const;
/** Kinds of journals that exist only in browsers; `test/browser` tests them. */
export const JOURNALS_OF_BROWSER_TESTS = ['indexeddb'];
export type JournalKind = (typeof JOURNALS)[number];

/**
 * Returns a function that makes an empty journal of a kind for a test. The journal is closed and
 * removed after the test. Call it once, at the top of a test file.
 */
export function journalsOfAllKinds(): (kind: JournalKind) => Promise<Journal> {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());
  return async (kind) => {
    if (kind === 'memory') return memoryJournal();
    if (kind === 'Postgres') {
      const journal = postgresJournal({ connectionString: await postgres.createDatabase() });
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
  };
}
