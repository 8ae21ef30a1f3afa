import { ConfigError } from '../errors.js';

/** What each call of a local transport rejects with once that was closed. */
export function transportClosed(): ConfigError {
  return new ConfigError(
    'client_closed',
    'This transport was closed meanwhile. Create a new one.',
    { details: {} },
  );
}
