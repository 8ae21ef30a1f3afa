import { ConfigError } from '../errors.js';

export function transportClosed(): ConfigError {
  return new ConfigError(
    'client_closed',
    'This transport was closed meanwhile. Create a new one.',
    { details: {} },
  );
}
