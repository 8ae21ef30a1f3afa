import { isExactChangeError, TransportError } from '../../src/errors.js';
import { startDeadline, untilAborted, type Deadline } from '../../src/internal/abort.js';
import { isRecord } from '../../src/internal/record.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { isSigned, type Transport } from '../../src/transport.js';
import { operations, pages } from '../../src/wire/operations.js';
import { PROBLEM_TYPE, problemOf, type Problem } from '../../src/wire/problem.js';
import { readQuery } from '../../src/wire/query.js';
import { callHook } from '../call-hook.js';
import { addressOf, NOTHING_HERE } from './address.js';
import { readJsonBody } from './body.js';
import { withSharedReads } from './coalesced.js';
import { corsHeaders, preflight } from './cors.js';
import { ALWAYS, requestIdOf } from './headers.js';
import { withMetrics, metricsRoute } from './metrics-route.js';
import { parseHandlerOptions, type HandlerOptions, type HandlerSettings } from './options.js';
import { RequestRefusal, unknownCaller } from './refusal.js';
import type { Route } from './route.js';
import { transportRoutes } from './routes.js';
import { createSecretSearch, type Finding } from './secrets.js';
import { webhookRoutes } from './webhook-routes.js';

import document from './openapi.json' with { type: 'json' };

const MAX_URL = 8_192;
const MAX_HEADERS = 16_384;
const MAX_WAIT_MS = 24 * 60 * 60_000;

/** Handles a request; a `Response` is the answer itself, any other value becomes its JSON. */
type HandledCall = (request: Request, url: URL) => Promise<unknown>;
/** The calls of one path, by method. */
type MethodTable = ReadonlyMap<string, HandledCall>;

/**
 * Creates the REST interface over any transport, as one function from a `Request` to a `Response`.
 * The function never rejects, holds no key and needs nothing of Node. Between requests it only
 * keeps quotes and balances, for a moment. Its own `/openapi.json` lists what it serves.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the options are wrong.
 *
 * @example
 * const handler = createHandler(local({ rpcUrl: 'https://rpc.example.com' }), {
 *   authorize: apiKeys([apiKey]),
 * });
 * const response = await handler(new Request('https://pay.example.com/api/health'));
 */
export function createHandler(
  transport: Transport,
  options: HandlerOptions = {},
): (request: Request) => Promise<Response> {
  const settings = parseHandlerOptions(transport, options);
  const { quoteCacheMs: quoteMs, balanceCacheMs: balanceMs } = settings;
  const { metrics } = settings;
  const routing = routingOf(
    withSharedReads(transport, { quoteMs, balanceMs }, systemRuntime.now),
    settings,
  );
  const handle = async (request: Request): Promise<Response> => {
    const requestId = requestIdOf(request.headers, systemRuntime);
    const headers = {
      ...ALWAYS,
      'x-request-id': requestId,
      ...corsHeaders(settings.cors, request.headers.get('origin')),
    };
    try {
      const answer = await answerOf(request, routing, settings);
      if (answer instanceof Response) return withHeaders(answer, headers);
      return json(request, 200, 'application/json', answer, headers);
    } catch (error) {
      const { problem, more } = problemFor(error, request);
      if (problem.status >= 500) callHook(() => settings.onError(error, requestId));
      return json(request, problem.status, PROBLEM_TYPE, problem, { ...headers, ...more });
    }
  };
  return metrics === undefined ? handle : withMetrics(handle, metrics, routing);
}

/** Returns the calls of the service by path and method. */
function routingOf(
  transport: Transport,
  settings: HandlerSettings,
): ReadonlyMap<string, MethodTable> {
  const { basePath, webhooks, callerOf, metrics } = settings;
  const routes = [
    ...transportRoutes(transport, callerOf, metrics),
    ...(webhooks === undefined ? [] : webhookRoutes(webhooks, callerOf)),
    ...(metrics === undefined ? [] : [metricsRoute(metrics)]),
  ];
  const routing = new Map<string, Map<string, HandledCall>>();
  const serve = (
    { method, path }: { readonly method: string; readonly path: string },
    call: HandledCall,
  ) => {
    const methods = routing.get(basePath + path) ?? new Map<string, HandledCall>();
    // RFC 9110: HEAD is a GET with an answer without its body.
    for (const name of method === 'GET' ? ['GET', 'HEAD'] : [method]) methods.set(name, call);
    routing.set(basePath + path, methods);
  };
  for (const route of routes)
    serve(route.operation, (request, url) => operate(route, request, url, settings));
  serve(pages.health, async () => ({ status: 'ok' }));
  serve(pages.openapi, async () => openapi);
  const { webhooks: webhookDocument, ...commonDocument } = document;
  const openapi = new CachedJson({
    ...commonDocument,
    ...(webhooks === undefined ? {} : { webhooks: webhookDocument }),
    servers: [{ url: basePath === '' ? '/' : basePath }],
    paths: Object.fromEntries(
      Object.entries(document.paths).filter(([path]) => routing.has(basePath + path)),
    ),
  });
  return routing;
}

/** An answer that never changes, so it is written as JSON only once. */
class CachedJson {
  #text: string | undefined;

  constructor(private readonly value: object) {}

  text(): string {
    return (this.#text ??= JSON.stringify(this.value));
  }
}

async function answerOf(
  request: Request,
  routing: ReadonlyMap<string, MethodTable>,
  settings: HandlerSettings,
): Promise<unknown> {
  const size = [...request.headers].reduce(
    (sum, [name, value]) => sum + name.length + value.length + 4,
    0,
  );
  if (request.url.length > MAX_URL || size > MAX_HEADERS) {
    throw new RequestRefusal(
      'headers_too_large',
      `Send an address of at most ${MAX_URL} and headers of at most ${MAX_HEADERS} characters.`,
    );
  }
  const url = addressOf(request.url);
  const table = routing.get(url.pathname);
  if (table === undefined) throw new RequestRefusal('not_found', NOTHING_HERE);
  const methods = [...table.keys()];
  const allowed = preflight(settings.cors, request, methods);
  if (allowed !== undefined) return allowed;
  const call = table.get(request.method);
  if (call !== undefined) return call(request, url);
  const allow = methods.join(', ');
  throw new RequestRefusal('method_not_allowed', `Use ${allow} here.`, { headers: { allow } });
}

/** Admits a request, reads its input and runs its operation, all within one deadline. */
async function operate(
  route: Route,
  request: Request,
  url: URL,
  settings: HandlerSettings,
): Promise<unknown> {
  const deadline = startDeadline(settings.timeoutMs, request.signal);
  let input: unknown;
  try {
    const refused = await untilAborted(admit(request, url, settings), deadline.signal);
    if (refused !== undefined) return refused;
    input = await inputOf(route, request, url, settings, deadline.signal);
    return await untilAborted(
      route.call(input, { request, signal: deadline.signal }),
      deadline.signal,
    );
  } catch (error) {
    throw deadline.signal.aborted ? ended(deadline, route, input, settings, error) : error;
  } finally {
    deadline.end();
  }
}

/** Throws if a request may not go on; returns a hook's own `Response`. */
async function admit(
  request: Request,
  url: URL,
  { rateLimit, authorize }: HandlerSettings,
): Promise<Response | undefined> {
  const wait: unknown = await rateLimit(request);
  if (typeof wait !== 'number' || Number.isNaN(wait))
    throw new TypeError('rateLimit has to give milliseconds.');
  if (wait > 0) {
    const retryAfterMs = Math.ceil(Math.min(wait, MAX_WAIT_MS));
    const message = `There were too many requests. Wait ${retryAfterMs} ms.`;
    throw new TransportError('rate_limited', message, { details: { retryAfterMs } });
  }
  refuseSecrets(
    createSecretSearch()([
      url.pathname,
      ...namesAndValues(url.searchParams),
      ...namesAndValues(request.headers),
    ]),
  );
  const allowed: unknown = await authorize(request);
  if (allowed instanceof Response) return allowed;
  // Only `true` admits a request: a hook may return a user, or an object with a promise in it.
  if (allowed === true) return undefined;
  throw unknownCaller({ 'www-authenticate': 'Bearer' });
}

/** Returns an object for each entry, because a name may come more than once. */
function namesAndValues(entries: Iterable<[string, string]>): Record<string, string>[] {
  return [...entries].map(([name, value]) => ({ [name]: value }));
}

async function inputOf(
  { operation }: Route,
  request: Request,
  url: URL,
  settings: HandlerSettings,
  signal: AbortSignal,
): Promise<unknown> {
  if (operation.query !== undefined) return readQuery(operation, url.searchParams);
  const body = await readJsonBody(request, settings.maxBodyBytes, signal);
  refuseSecrets(createSecretSearch()(body));
  return body;
}

const FOUND: { readonly [F in Finding]: string } = {
  name: 'The request has a field that is named as a private key. Send none: this service never needs one. Take the key for known to others.',
  key: 'The request holds a private key. Send none: this service never needs one. Take the key for known to others, and move what it holds.',
  crowd:
    'The request holds more values of the size of a private key than are looked into. Send fewer.',
};

function refuseSecrets(finding: Finding | undefined): void {
  if (finding !== undefined) throw new RequestRefusal('secret_refused', FOUND[finding]);
}

/** Returns the error for a stopped request. What it or an equal request signed may still land. */
function ended(
  { passed }: Deadline,
  { operation }: Route,
  input: unknown,
  { timeoutMs }: HandlerSettings,
  cause: unknown,
): Error {
  if (!passed) return new RequestRefusal('cancelled', 'The request was cancelled by its caller.');
  if (input === undefined && operation.query === undefined) {
    return new RequestRefusal(
      'request_timeout',
      `The request did not arrive within ${timeoutMs} ms. Send it again.`,
    );
  }
  return new TransportError('timeout', `There was no answer within ${timeoutMs} ms. Try again.`, {
    details: { step: operation.path, timeoutMs },
    ...(isRecord(input) && isSigned(input) ? { funds: 'uncertain', retry: 'same' } : {}),
    cause,
  });
}

function problemFor(
  error: unknown,
  { url }: Request,
): {
  readonly problem: Problem;
  readonly more: Readonly<Record<string, string>>;
} {
  if (error instanceof RequestRefusal) return { problem: error.problem, more: error.headers };
  const limited = isExactChangeError(error, 'rate_limited');
  return {
    // Only a payment sends anything. An address that merely contains its path errs on the safe side.
    problem: problemOf(error, url.includes(operations.autoPay.path)),
    more: limited ? { 'retry-after': String(Math.ceil(error.details.retryAfterMs / 1000)) } : {},
  };
}

function json(
  { method }: Request,
  status: number,
  type: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Response {
  const text = () => (body instanceof CachedJson ? body.text() : JSON.stringify(body));
  return new Response(method === 'HEAD' ? null : text(), {
    status,
    headers: { 'content-type': type, ...headers },
  });
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const merged = new Headers(response.headers);
  for (const [name, value] of Object.entries(headers)) merged.set(name, value);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers: merged });
}
