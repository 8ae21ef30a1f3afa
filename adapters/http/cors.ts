const ALLOWED_HEADERS = 'authorization, content-type, x-api-key, x-request-id';
const EXPOSED_HEADERS = 'retry-after, x-request-id';
const MAX_AGE_SECONDS = '600';

/**
 * Returns the headers that let a page of a listed origin read the answer; none if no origin is
 * listed. Cookies are never allowed.
 */
export function corsHeaders(
  origins: readonly string[],
  origin: string | null,
): Readonly<Record<string, string>> {
  if (origins.length === 0) return {};
  if (origin === null || !origins.includes(origin)) return { vary: 'origin' };
  return {
    vary: 'origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED_HEADERS,
  };
}

/**
 * Returns the answer to a CORS preflight; undefined if the request is no preflight, or its page may
 * not call.
 */
export function preflight(
  origins: readonly string[],
  { method, headers }: Request,
  methods: readonly string[],
): Response | undefined {
  const origin = headers.get('origin');
  if (
    method !== 'OPTIONS' ||
    origin === null ||
    !origins.includes(origin) ||
    !headers.has('access-control-request-method')
  )
    return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': ALLOWED_HEADERS,
      'access-control-max-age': MAX_AGE_SECONDS,
    },
  });
}
