import { ConfigError } from '../errors.js';
import { isSigned } from '../transport.js';

/** Creates the error with which each call of a closed local transport rejects. */
export function transportClosed(request?: object): ConfigError {
  return new ConfigError('client_closed', 'This transport is closed. Create a new one.', {
    details: {},
    ...(isSigned(request) ? { funds: 'uncertain', retry: 'same' } : {}),
  });
}
