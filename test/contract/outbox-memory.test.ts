import { memoryJournal } from '../../src/journal/memory.js';
import { outboxContract, withOutbox } from './outbox-contract.js';

outboxContract('memoryJournal', async () => ({
  journal: withOutbox(memoryJournal({ outbox: true })),
  close: async () => undefined,
}));
