import { pages } from '../../src/wire/operations.js';
import { METRICS_TYPE, type Metrics } from './metrics.js';
import type { Route } from './route.js';

/** Where Prometheus reads what was counted. */
export function metricsRoute(metrics: Metrics): Route {
  return {
    operation: pages.metrics,
    call: async (_, { request }) =>
      new Response(request.method === 'HEAD' ? null : metrics.text(), {
        headers: { 'content-type': METRICS_TYPE },
      }),
  };
}

/** A handler whose requests are counted, by paths and methods that there are. */
export function measured(
  handle: (request: Request) => Promise<Response>,
  metrics: Metrics,
  places: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const counted = metrics.request();
    const response = await handle(request);
    const [path = ''] = request.url.replace(/^\w+:\/\/[^/]*/, '').split(/[?#]/);
    const methods = places.get(path);
    const isKnown = methods?.has(request.method) === true;
    counted(
      methods === undefined ? 'other' : path,
      isKnown ? request.method : 'other',
      response.status,
    );
    return response;
  };
}
