import { createEvents } from '../../../src/events.js';
import { newWallet } from '../../../src/journal/registry.js';
import type { Journal, Owner } from '../../../src/journal/types.js';
import { timedJournal } from '../../../src/payments/journal-timeouts.js';

const now = () => 0;
const forEver = () => new Promise<void>(() => undefined);

/**
 * Puts a time limit on a journal, as a client that never tells it of a release again, unless `idle`
 * ends.
 */
export function timedAs(journal: Journal, owner: Owner, timeoutMs = 60_000, idle = forEver) {
  const settings = { timeouts: { journal: timeoutMs }, runtime: { now, idle } };
  return timedJournal(journal, owner, settings, {
    events: createEvents(now),
    wallet: newWallet(),
  });
}
