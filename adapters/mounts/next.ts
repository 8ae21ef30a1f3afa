/**
 * A service in Next.js, as a route of the App Router.
 *
 * @module exact-change/next
 */
import type { FetchHandler } from './fetch-handler.js';
import { HOST } from './host-header.js';

export type { FetchHandler } from './fetch-handler.js';

/** The exports of a `route.ts`. */
export type NextRoutes = Readonly<
  Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS', FetchHandler>
>;

/**
 * Serves a handler as the routes of a file such as `app/pay/[...path]/route.ts`. Next.js puts
 * `localhost` into every address, so the handler gets the host that the caller named instead. There
 * is no `clientAddress`, because Next.js only passes on headers that any caller can write.
 *
 * @example
 * export const { GET, HEAD, POST, DELETE, OPTIONS } = nextRoutes(
 *   createHandler(local(), { basePath: '/pay' }),
 * );
 */
export function nextRoutes(handler: FetchHandler): NextRoutes {
  const route: FetchHandler = (request) => handler(withCallersHost(request));
  return {
    ...{ GET: route, HEAD: route, POST: route, PUT: route },
    ...{ PATCH: route, DELETE: route, OPTIONS: route },
  };
}

/** Returns the request with the host and the scheme that its caller used. */
function withCallersHost(request: Request): Request {
  const { method, headers, body, signal } = request;
  const url = new URL(request.url);
  const host = headers.get('host');
  if (host !== null && HOST.test(host)) url.host = host;
  const scheme = headers.get('x-forwarded-proto')?.split(',')[0]?.trim();
  if (scheme === 'http' || scheme === 'https') url.protocol = scheme;
  // Copy the members, because the request is of a class of Next.js.
  return new Request(url, Object.assign({ method, headers, body, signal }, { duplex: 'half' }));
}
