import { pages } from '../../src/wire/operations.js';
import { METRICS_TYPE, type Metrics } from './metrics.js';
import type { Route } from './route.js';

/** Creates the route from which Prometheus reads the metrics. */
export function metricsRoute(metrics: Metrics): Route {
  return {
    operation: pages.metrics,
    call: async (_, { request }) =>
      new Response(request.method === 'HEAD' ? null : metrics.text(), {
        headers: { 'content-type': METRICS_TYPE },
      }),
  };
}

/**
 * Wraps a handler so that its requests are counted by path and method. Paths and methods that the
 * service does not have count as `other`.
 */
export function withMetrics(
  handle: (request: Request) => Promise<Response>,
  metrics: Metrics,
  routing: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const countRequest = metrics.request();
    const response = await handle(request);
    const [path = ''] = request.url.replace(/^\w+:\/\/[^/]*/, '').split(/[?#]/);
    const methods = routing.get(path);
    const isKnown = methods?.has(request.method) === true;
    countRequest(
      methods === undefined ? 'other' : path,
      isKnown ? request.method : 'other',
      response.status,
    );
    return response;
  };
}
