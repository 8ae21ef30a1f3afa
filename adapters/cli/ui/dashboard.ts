import type { Asset } from './assets.js';
import type { Changes } from './changes.js';
import type { JournalView } from './journal-view.js';
import type { Sessions } from './sessions.js';
import type { Overview } from './shown.js';

/** Path of the page. */
export const PLACE = '/ui/';

export interface DashboardParts {
  readonly assets: ReadonlyMap<string, Asset>;
  readonly view: JournalView;
  readonly sessions: Sessions;
  readonly changes: Changes;
  /** The `authorize` of the service: whether a request has a valid key. */
  readonly authorize: (request: Request) => boolean;
  /** Returns the part of an overview that does not come from the journal's view. */
  readonly more: (
    wallet: string | undefined,
  ) => Promise<Pick<Overview, 'caps' | 'endpoints' | 'deliveries'>>;
  /** The wallet of the settings; the first in the list. */
  readonly own: string | undefined;
  readonly onError: (error: unknown) => void;
}

/** Allows only the page's own scripts and styles: no other origin, no frame, no text as HTML. */
const CSP = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", 'img-src data:'],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ');

const HEADERS = {
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/**
 * Returns a handler for the page and its data. The data is read-only, and needs the service's key
 * or a session. The handler returns undefined for a request to the service.
 */
export function createDashboard(
  parts: DashboardParts,
): (request: Request) => Promise<Response> | undefined {
  const { assets, sessions, authorize, onError } = parts;

  const answer = async (request: Request, url: URL): Promise<Response> => {
    const name = url.pathname.slice(PLACE.length);
    const isPost = name === 'session';
    if (request.method !== (isPost ? 'POST' : 'GET'))
      return problem(405, 'method_not_allowed', 'This page only reads.');
    const asset = assets.get(name === '' ? 'index.html' : name);
    if (asset !== undefined) return respond(asset.body, { 'content-type': asset.type });
    // Browsers say in this header if a page of another origin sends the request.
    const site = request.headers.get('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none')
      return problem(403, 'foreign_origin', 'This is for its own page alone.');
    const secret = bearer(request);
    if (isPost) {
      const token = authorize(request) ? sessions.open() : sessions.redeem(secret);
      return token === undefined ? unknownCaller() : json({ token });
    }
    if (!sessions.has(secret) && !authorize(request)) return unknownCaller();
    return read(name, url.searchParams, request, parts);
  };

  return (request) => {
    const url = new URL(request.url);
    const { pathname } = url;
    if (pathname === '/' || pathname === PLACE.slice(0, -1))
      return Promise.resolve(respond('', { location: PLACE }, 302));
    if (!pathname.startsWith(PLACE)) return undefined;
    return answer(request, url).catch((error: unknown) => {
      onError(error);
      return problem(500, 'internal_error', 'The journal could not be read. See the terminal.');
    });
  };
}

async function read(
  name: string,
  query: URLSearchParams,
  { signal }: Request,
  { view, changes, own, more }: DashboardParts,
): Promise<Response> {
  const param = (key: string) => query.get(key) || undefined;
  if (name === 'changes') {
    const stream = changes.stream(signal);
    return stream === undefined
      ? problem(429, 'rate_limited', 'Too many pages are open. Close some.')
      : respond(stream, { 'content-type': 'text/event-stream' });
  }
  if (name !== 'overview' && name !== 'receipts')
    return problem(404, 'not_found', 'There is nothing here.');
  await view.refresh();
  if (name === 'receipts') {
    const from = Number(param('from') ?? 0);
    const wanted = { wallet: param('wallet'), state: param('state'), text: param('text') };
    return Number.isSafeInteger(from) && from >= 0
      ? json(view.receipts({ ...wanted, from }))
      : problem(400, 'invalid_request', 'from must be a whole number.');
  }
  const wallets = [...new Set([...(own === undefined ? [] : [own]), ...view.wallets()])];
  const wallet = param('wallet') ?? wallets[0];
  if (wallet !== undefined && !wallets.includes(wallet))
    return problem(400, 'invalid_request', 'wallet must be one of the wallets of the journal.');
  return json({
    ...{ wallets, ...(wallet === undefined ? {} : { wallet }) },
    ...view.sums(wallet),
    ...(await more(wallet)),
  } satisfies Overview);
}

const bearer = ({ headers }: Request): string =>
  /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';

const unknownCaller = () =>
  problem(401, 'unauthorized', 'Use the link of the terminal, or the key of the service.');

function problem(status: number, code: string, detail: string): Response {
  return respond(
    JSON.stringify({ status, code, detail }),
    { 'content-type': 'application/problem+json' },
    status,
  );
}

function json(value: unknown): Response {
  return respond(JSON.stringify(value), { 'content-type': 'application/json' });
}

function respond(
  body: string | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } });
}
