import { createMemoryJournal } from '../../src/journal/memory.js';
import { journalContract } from './journal-contract.js';

journalContract('memoryJournal', async () => ({
  journal: createMemoryJournal(),
  close: async () => undefined,
}));
