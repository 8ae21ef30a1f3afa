/**
 * A service in Express.
 *
 * @module exact-change/express
 */
import type { Request, RequestHandler } from 'express';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { bodyBefore } from './node/incoming.js';

export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

/**
 * Serves a handler in Express, with or without a body parser before it. It answers every request
 * that it gets, an unknown path with a 404 of its own. Mount it below a path, and give this path to
 * the handler as `basePath`, because the handler sees the whole address.
 *
 * @example
 * app.use('/pay', expressHandler(createHandler(local(), { basePath: '/pay' })));
 */
export function expressHandler(handler: FetchHandler): RequestHandler {
  return (request, response, next) => {
    const { protocol: scheme, ip: address } = request;
    const target = routedOn(request);
    const body = bodyBefore(request, request.body);
    exchange(handler, request, response, { target, scheme, address, body }).catch(next);
  };
}

/**
 * Returns the target that Express routed on, which earlier middleware may have changed. If the
 * target is a whole address, Express has cut the mount paths out after its host.
 */
function routedOn({ baseUrl, url }: Request): string {
  const [host = ''] = /^https?:\/\/[^/?#]*/i.exec(url) ?? [];
  return host + baseUrl + url.slice(host.length);
}
