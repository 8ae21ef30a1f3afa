import { ConfigError } from '../../../src/errors.js';
import { hasCode } from '../../../src/internal/error-code.js';

/**
 * Loads an optional package. Rejects with `ConfigError` (`missing_dependency`) if it is not
 * installed.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!hasCode(cause, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) throw cause;
    throw new ConfigError(
      'missing_dependency',
      `The Postgres journal needs a package that is not installed. Install it: npm install ${name}`,
      {
        details: { packages: [name] },
        cause,
      },
    );
  }
}
