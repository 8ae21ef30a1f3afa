import { createEvents } from '../../../src/events.js';
import { newWallet } from '../../../src/journal/registry.js';
import type { Journal, Owner } from '../../../src/journal/types.js';
import { timedJournal } from '../../../src/payments/journal-timeouts.js';

const runtime = { now: () => 0, idle: () => new Promise<void>(() => undefined) };

/** Puts a time limit on a journal, as a client that never tells it of a release again. */
export function timedAs(journal: Journal, owner: Owner, timeoutMs = 60_000) {
  const settings = { timeouts: { journal: timeoutMs }, runtime };
  return timedJournal(journal, owner, settings, {
    events: createEvents(runtime.now),
    wallet: newWallet(),
  });
}
