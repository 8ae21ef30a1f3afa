import { ConfigError } from '../../../src/errors.js';
import { hasCode } from '../../../src/internal/error-code.js';

/**
 * Loads an optional package. Rejects with `ConfigError` (`missing_dependency`) if it is not
 * installed, or if the installed version is not usable.
 *
 * @param spec - The package as `npm install` takes it, with the major version.
 */
export async function loadPeer<T>(
  spec: string,
  load: () => Promise<T>,
  isUsable: (loaded: T) => boolean = () => true,
): Promise<T> {
  const loaded = await load().catch((cause: unknown) => {
    if (!hasCode(cause, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) throw cause;
    throw missing('a package that is not installed', spec, cause);
  });
  if (!isUsable(loaded)) throw missing('another version of an installed package', spec);
  return loaded;
}

function missing(what: string, spec: string, cause?: unknown): ConfigError {
  const message = `The Postgres journal needs ${what}. Install it: npm install ${spec}`;
  return new ConfigError('missing_dependency', message, { details: { packages: [spec] }, cause });
}
