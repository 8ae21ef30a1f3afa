import { memoryJournal } from '../../src/journal/memory.js';
import { journalContract } from './journal-contract.js';

journalContract('memoryJournal', async () => ({
  journal: memoryJournal(),
  close: async () => undefined,
}));
