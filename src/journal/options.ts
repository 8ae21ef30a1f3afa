import { refuse, refuseUnknown } from '../internal/options.js';

/** What a journal for one process is made with. */
export interface JournalOptions {
  /**
   * Whether events are kept for webhooks, written in one step with what they tell of. Default
   * false.
   */
  readonly outbox?: boolean | undefined;
}

/**
 * Whether a journal keeps events. Throws `ConfigError` (`invalid_option`), also for a name that is
 * not known.
 */
export function wantsOutbox(options: JournalOptions): boolean {
  refuseUnknown(options, ['outbox']);
  const { outbox = false } = options;
  if (typeof outbox !== 'boolean') throw refuse('outbox', 'must be true or false.');
  return outbox;
}
