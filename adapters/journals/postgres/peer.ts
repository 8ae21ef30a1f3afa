import { ConfigError } from '../../../src/errors.js';

/**
 * Loads an optional package. Rejects with `ConfigError` (`missing_dependency`) if it is not
 * installed.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
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

function isNotFound(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND';
}
