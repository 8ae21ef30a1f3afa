import { systemRuntime } from '../internal/runtime.js';
import type { Attempt } from '../journal/types.js';
import { jobsOf } from './notices.js';
import type { Outbox } from './outbox.js';
import { announce, createOutboxListeners, outboxOver } from './port.js';
import { createOutboxStore, type OutboxRecord } from './store.js';

export interface MemoryOutbox {
  tell(before: Attempt | undefined, after: Attempt | undefined): void;
  readonly port: Outbox;
}

export function memoryOutbox(): MemoryOutbox {
  const store = createOutboxStore();
  const listeners = createOutboxListeners();
  const write = (records: readonly OutboxRecord[]) => {
    records.forEach(store.apply);
    const trimmed = store.trimming();
    trimmed.forEach(store.apply);
    announce(listeners, records, trimmed);
  };
  return {
    tell: (before, after) => write(store.adding(jobsOf(before, after, systemRuntime.now()))),
    port: outboxOver(async (decide) => {
      const { records, result } = decide(store);
      write(records);
      return result;
    }, listeners),
  };
}
