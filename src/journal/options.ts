import { refuse } from '../policy/read.js';

/** What a journal for one process is made with. */
export interface JournalOptions {
  /** Whether events are kept for webhooks, written in one step with what they tell of. Default false. */
  readonly outbox?: boolean | undefined;
}

/** Whether a journal keeps events. Throws `ConfigError` (`invalid_option`), also for a name that is not known. */
export function wantsOutbox(options: JournalOptions): boolean {
  // From JavaScript it may be anything.
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) throw refuse('options', 'must be an object.');
  const unknown = Object.keys(given).find((name) => name !== 'outbox');
  if (unknown !== undefined) throw refuse(unknown, 'is not known. Check its spelling.');
  const { outbox = false } = options;
  if (typeof outbox !== 'boolean') throw refuse('outbox', 'must be true or false.');
  return outbox;
}
