import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startPostgres, type Postgres } from './postgres.js';

/** Where journals are kept. */
export const JOURNALS = ['memory', 'file', 'Postgres'] as const;
/** Those that only a browser has: `test/browser`. */
export const JOURNALS_OF_BROWSER_TESTS = ['indexeddb'];
export type JournalKind = (typeof JOURNALS)[number];

/**
 * Makes an empty journal of a kind for one test, after which it is closed and removed. To be called
 * once, at the top of a file of tests.
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
