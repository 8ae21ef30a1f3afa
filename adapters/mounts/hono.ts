/**
 * A service in Hono.
 *
 * @module exact-change/hono
 */
import type { Context } from 'hono';
import type { FetchHandler } from './fetch-handler.js';

export type { FetchHandler } from './fetch-handler.js';

/**
 * Serves a handler in Hono, even if the body was read before. The handler sees the whole address,
 * so give it the path of the mount as `basePath`.
 *
 * @example
 * app.all('/pay/*', honoHandler(createHandler(local(), { basePath: '/pay' })));
 */
export function honoHandler(handler: FetchHandler): (context: Context) => Promise<Response> {
  return async ({ req }) => {
    const { raw } = req;
    if (!raw.bodyUsed) return handler(raw);
    const { url, method, headers, signal } = raw;
    return handler(new Request(url, { method, headers, signal, body: await req.arrayBuffer() }));
  };
}
