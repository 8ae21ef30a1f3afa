import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll } from 'vitest';
import { processesContract } from './processes-contract.js';

const directory = mkdtempSync(join(tmpdir(), 'processes-'));
let made = 0;

afterAll(() => rmSync(directory, { recursive: true }));

processesContract('fileJournal', async () => {
  const address = join(directory, `${(made += 1)}.jsonl`);
  return { address, open: () => fileJournal(address) };
});
