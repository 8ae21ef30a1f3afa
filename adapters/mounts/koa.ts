/**
 * A service in Koa.
 *
 * @module exact-change/koa
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { writtenBody } from './node/written-body.js';

export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

/** What is used of the context of Koa 2 and 3. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** A parser of bodies keeps what it made here. */
  readonly request: { readonly body?: unknown };
  readonly path: string;
  readonly originalUrl: string;
  readonly protocol: string;
  readonly ip: string;
  respond?: boolean;
}

/**
 * Serves a handler in Koa, with or without a parser of bodies before it. What is not below its path
 * is left to what comes next.
 *
 * @param basePath - The path that the handler has, too. Default: it answers every request.
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
    const body = req.readableDidRead ? writtenBody(context.request.body) : undefined;
    // What others have set of headers is in the answer, too.
    context.respond = false;
    return exchange(handler, req, res, { target, scheme, address, body });
  };
}
