import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll } from 'vitest';
import { outboxContract, withOutbox, type OpenOutbox } from './outbox-contract.js';

const directory = mkdtempSync(join(tmpdir(), 'outbox-'));
let made = 0;

afterAll(() => rmSync(directory, { recursive: true }));

// The file keeps its jobs in the store of memoryJournal.
const open = async () => openAt(join(directory, `${(made += 1)}.jsonl`));
outboxContract('fileJournal', open, false);

function openAt(path: string): OpenOutbox {
  const journal = withOutbox(fileJournal(path, { outbox: true }));
  return { journal, reopen: async () => openAt(path), close: () => journal.close() };
}
