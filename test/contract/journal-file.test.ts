import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll } from 'vitest';
import { journalContract, type OpenJournal } from './journal-contract.js';

const directory = mkdtempSync(join(tmpdir(), 'journal-'));
let made = 0;

afterAll(() => rmSync(directory, { recursive: true }));

journalContract('fileJournal', async () => openAt(join(directory, `${(made += 1)}.jsonl`)), {
  durable: true,
});

function openAt(path: string): OpenJournal {
  const journal = fileJournal(path);
  return { journal, reopen: async () => openAt(path), close: () => journal.close() };
}
