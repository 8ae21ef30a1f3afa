import { createMemoryJournal } from '../../src/journal/memory.js';
import { memoryOutbox } from '../../src/outbox/memory.js';
import { outboxContract, withOutbox } from './outbox-contract.js';

outboxContract('memoryJournal', async () => ({
  journal: withOutbox(createMemoryJournal(memoryOutbox())),
  close: async () => undefined,
}));
