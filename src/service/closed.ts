import { ConfigError } from '../errors.js';

/** Creates the error with which each call of a closed local transport rejects. */
export function transportClosed(): ConfigError {
  return new ConfigError(
    'client_closed',
    'This transport was closed meanwhile. Create a new one.',
    { details: {} },
  );
}
