import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll } from 'vitest';
import { coordinationContract } from './coordination-contract.js';
import type { OpenJournal } from './journal-contract.js';

const directory = mkdtempSync(join(tmpdir(), 'coordination-'));
let made = 0;

afterAll(() => rmSync(directory, { recursive: true }));

coordinationContract('fileJournal', async () => openAt(join(directory, `${(made += 1)}.jsonl`)));

function openAt(path: string): OpenJournal {
  const journal = fileJournal(path);
  return { journal, reopen: async () => openAt(path), close: () => journal.close() };
}
