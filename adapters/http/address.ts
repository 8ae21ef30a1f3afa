import { RequestRefusal } from './refusal.js';

export const NOTHING_HERE = 'There is nothing at this path. See /openapi.json for what there is.';

/**
 * Reads `scheme://host/path?query`. Throws {@link RequestRefusal} if parsing changes the written
 * path, because of dot segments, backslashes or a fragment: a rule of the framework before may have
 * judged the path as written. Throws `TypeError` if the text is no address.
 */
export function addressOf(text: string): URL {
  const url = new URL(text);
  const written = /^[^:]*:\/\/[^/\\?#]*([^?]*)/.exec(text)?.[1];
  if (written !== url.pathname) throw new RequestRefusal('not_found', NOTHING_HERE);
  return url;
}
