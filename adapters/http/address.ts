import { parseUrl } from '../../src/internal/parse.js';
import { RequestRefusal } from './refusal.js';

export const NOTHING_HERE = 'There is nothing at this path. See /openapi.json for what there is.';

/**
 * Reads `scheme://host/path?query`. Throws {@link RequestRefusal} if the text is no address, or if
 * parsing changes the written path, because of dot segments, backslashes or a fragment: a rule of
 * the framework before may have judged the path as written.
 */
export function addressOf(text: string): URL {
  const url = parseUrl(text);
  if (url === undefined) throw unreadableAddress();
  const written = /^[^:]*:\/\/[^/\\?#]*([^?]*)/.exec(text)?.[1];
  if (written !== url.pathname) throw new RequestRefusal('not_found', NOTHING_HERE);
  return url;
}

export function unreadableAddress(): RequestRefusal {
  return new RequestRefusal(
    'malformed_request',
    'The address, the host or the scheme of the request cannot be read. Check them.',
  );
}
