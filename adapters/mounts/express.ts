/**
 * A service in Express.
 *
 * @module exact-change/express
 */
import type { Request, RequestHandler } from 'express';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { writtenBody } from './node/written-body.js';

export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

/**
 * Serves a handler in Express, with or without a parser of bodies before it. It answers every
 * request that it is given, what the service does not know with a 404 of its own: mount it below a
 * path, and name that path to the handler, which sees the whole address.
 *
 * @example
 * app.use('/pay', expressHandler(createHandler(local(), { basePath: '/pay' })));
 */
export function expressHandler(handler: FetchHandler): RequestHandler {
  return (request, response, next) => {
    const { protocol: scheme, ip: address } = request;
    const target = routedOn(request);
    const parsed: unknown = request.body;
    const body = request.readableDidRead ? writtenBody(parsed) : undefined;
    exchange(handler, request, response, { target, scheme, address, body }).catch(next);
  };
}

/**
 * What Express went by, which a step before may have changed. Of a whole address, the mounts' paths
 * are cut out after the host.
 */
function routedOn({ baseUrl, url }: Request): string {
  const [host = ''] = /^https?:\/\/[^/?#]*/i.exec(url) ?? [];
  return host + baseUrl + url.slice(host.length);
}
