/**
 * A service in Koa.
 *
 * @module exact-change/koa
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { bodyBefore } from './node/incoming.js';

export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

/** The members of the context of Koa 2 and 3 that are used. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** A body parser stores its value here. */
  readonly request: { readonly body?: unknown };
  readonly path: string;
  readonly originalUrl: string;
  readonly protocol: string;
  readonly ip: string;
  respond?: boolean;
}

/**
 * Serves a handler in Koa, with or without a body parser before it. Requests outside `basePath` go
 * to the next middleware.
 *
 * @param basePath - The same as the `basePath` of the handler. Default: it answers every request.
 *
 * @example
 * app.use(koaHandler(createHandler(local(), { basePath: '/pay' }), '/pay'));
 */
export function koaHandler(
  handler: FetchHandler,
  basePath = '',
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  return async (context, next) => {
    const { req, res, path, originalUrl: target, protocol: scheme, ip: address } = context;
    if (basePath !== '' && path !== basePath && !path.startsWith(`${basePath}/`)) return next();
    const body = bodyBefore(req, context.request.body);
    // Koa must not answer too. Headers that other middleware has set stay in the answer.
    context.respond = false;
    return exchange(handler, req, res, { target, scheme, address, body });
  };
}
