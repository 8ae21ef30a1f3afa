import { refuse, refuseUnknown } from '../internal/options.js';

/** Options of a journal for one process. */
export interface JournalOptions {
  /**
   * Whether the journal keeps events for webhooks. It writes an event in one step with the change
   * that the event reports. Default false.
   */
  readonly outbox?: boolean | undefined;
}

/**
 * Whether a journal keeps events. Throws `ConfigError` (`invalid_option`), also for an unknown
 * option.
 */
export function wantsOutbox(options: JournalOptions): boolean {
  refuseUnknown(options, ['outbox']);
  const { outbox = false } = options;
  if (typeof outbox !== 'boolean') throw refuse('outbox', 'must be true or false.');
  return outbox;
}
