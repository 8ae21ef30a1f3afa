import type { SwapSource } from '../provider.js';
import { createFallback } from './fallback.js';
import { createJupiterHttp } from './http.js';
import { jupiterLimiter } from './limiter.js';
import { createJupiterV1 } from './v1.js';
import { createJupiterV2 } from './v2.js';

/**
 * Jupiter's two APIs as one provider: the first quotes exact outputs, the second is there when the
 * first has no route or is gone.
 */
export const connect: SwapSource['connect'] = (
  { jupiterUrl: baseUrl, jupiterApiKey: apiKey, fetch, timeouts, runtime },
  taker,
) => {
  const timeoutMs = timeouts.jupiter;
  const http = createJupiterHttp({
    fetch,
    timeoutMs,
    runtime,
    limiter: jupiterLimiter({ baseUrl, apiKey, timeoutMs }, runtime),
  });
  const options = { baseUrl, apiKey, http, runtime };
  return Promise.resolve(
    createFallback({
      first: createJupiterV1(options),
      second: createJupiterV2({ ...options, taker }),
      runtime,
    }),
  );
};
