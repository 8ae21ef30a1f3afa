import { RequestRefusal } from './refusal.js';

export const NOTHING_HERE = 'There is nothing at this path. See /openapi.json for what there is.';

/**
 * Reads `scheme://host/path?query`. Throws {@link RequestRefusal} if reading makes another path
 * of the one that is written, by dot segments, backslashes or a fragment: what stood before, such
 * as a rule of the framework, went by what is written. Throws `TypeError` if it is no address.
 */
export function addressOf(text: string): URL {
  const url = new URL(text);
  const written = /^[^:]*:\/\/[^/\\?#]*([^?]*)/.exec(text)?.[1];
  if (written !== url.pathname) throw new RequestRefusal('not_found', NOTHING_HERE);
  return url;
}
