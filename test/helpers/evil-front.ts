import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { address } from '@solana/kit';
import type { Sandbox } from 'exact-change-sandbox';
import { recording, type Seen } from './fetch-record.js';
import type { Victim } from './lying-service.js';
import { ownAccounts } from './own-messages.js';

export type Json = Readonly<Record<string, unknown>>;
export type Endpoint = 'quote' | 'build' | 'balance' | 'parse' | 'autoPay';

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/api/quote': 'quote',
  '/api/swap/build': 'build',
  '/api/balance': 'balance',
  '/api/x402/parse-payment': 'parse',
  '/api/x402/auto-pay': 'autoPay',
};

/** An answer before it is sent. */
export interface Draft {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** A call that the front answers with a lie. */
export interface LieContext {
  readonly endpoint: Endpoint;
  /** Body of a POST, or query of a GET. */
  readonly request: Json;
  readonly victim: Victim;
  /** Sends another request to the honest service. */
  honest(path: string, body?: Json): Promise<Json>;
  /** A URL of the front that no honest caller requests. */
  readonly elsewhere: string;
}

type Says<T = Json> = (truth: T, told: LieContext) => unknown;

/**
 * The changes that an evil service makes to honest answers. Each change applies to every quote,
 * built swap, offer, step or balance in any answer.
 */
export interface EvilLie {
  readonly asks?: (request: Json, told: LieContext) => Json;
  readonly quote?: Says;
  readonly swap?: Says;
  readonly offer?: Says;
  readonly step?: Says;
  readonly balance?: Says;
  /** True if only a timeout ends the call: the front does not call the honest service. */
  readonly slow?: boolean;
  /** Writes the raw HTTP answer. */
  readonly answers?: (response: ServerResponse, honest: Draft, told: LieContext) => void;
}

/** The front as one victim sees it. */
export interface Session {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Endpoints that the victim called, in order. */
  readonly calls: readonly Endpoint[];
  /** Endpoints at which the front lied. */
  readonly told: readonly Endpoint[];
  /** Errors in the front's own code, which a test must not take for lies. */
  readonly faults: readonly unknown[];
}

/** Settings of a session. */
export interface SessionOptions {
  /** Endpoints at which the front lies; default: all of them. */
  readonly at?: readonly Endpoint[] | undefined;
  /** True if the front has no auto-pay endpoint, like older services: clients call each step. */
  readonly planless?: boolean | undefined;
}

export interface Front {
  readonly port: number;
  session(wallet: string, lie: EvilLie, how?: SessionOptions): Session;
  /** Requests outside of every session, such as those that follow a redirect. */
  readonly strays: readonly Seen[];
  close(): Promise<void>;
}

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Running {
  readonly wallet: string;
  readonly lie: EvilLie;
  readonly how: SessionOptions;
  readonly seen: Seen[];
  readonly calls: Endpoint[];
  readonly told: Endpoint[];
  readonly faults: unknown[];
}

/** Starts a server before an honest service that changes answers by the lie of each session. */
export async function startFront(sandbox: Sandbox, service: string): Promise<Front> {
  const sessions = new Map<string, Running>();
  const strays: Seen[] = [];
  const pending: Seen[] = [];
  const server = createServer(
    recording(pending, (request, response, body) => {
      const [seen] = pending.splice(0);
      const [, id = '', path = ''] = /^\/([^/]*)(\/[^?]*)/.exec(request.url ?? '') ?? [];
      const running = sessions.get(id);
      const endpoint = ENDPOINTS[path];
      if (seen === undefined || running === undefined || endpoint === undefined) {
        if (seen !== undefined) strays.push(seen);
        response.writeHead(404).end();
        return;
      }
      running.seen.push(seen);
      running.calls.push(endpoint);
      exchange(running, endpoint, seen, body, response).catch((error: unknown) => {
        running.faults.push(error);
        response.destroy();
      });
    }),
  );

  async function ask(path: string, method: string, body?: string): Promise<Draft> {
    const answer = await fetch(`${service}${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      bytes: Buffer.from(await answer.arrayBuffer()),
    };
  }

  async function exchange(
    running: Running,
    endpoint: Endpoint,
    seen: Seen,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const { lie, wallet, how } = running;
    if (how.planless === true && endpoint === 'autoPay') return write(response, NOT_FOUND);
    const lies = how.at?.includes(endpoint) ?? true;
    // Note the lie before the first await, because the caller may disconnect.
    if (lies && lie.answers !== undefined) running.told.push(endpoint);
    // A bound TCP server's address is never a pipe's name or null.
    const { port } = server.address() as AddressInfo;
    const liedAt: LieContext = {
      endpoint,
      request: requestIn(seen, body),
      victim: { sandbox, wallet: address(wallet), own: await ownAccounts(sandbox, wallet) },
      honest: async (path, json) => {
        const { bytes } = await ask(
          path,
          json === undefined ? 'GET' : 'POST',
          json === undefined ? undefined : JSON.stringify(json),
        );
        return parsed(bytes);
      },
      elsewhere: `http://127.0.0.1:${port}/elsewhere`,
    };
    if (lies && lie.slow === true) return lie.answers?.(response, NOT_FOUND, liedAt);
    const [path = '', query] = seen.path.replace(/^\/[^/]*/, '').split('?');
    const changedRequest =
      lies && lie.asks !== undefined && seen.method === 'POST'
        ? lie.asks(liedAt.request, liedAt)
        : undefined;
    if (changedRequest !== undefined) running.told.push(endpoint);
    const text =
      changedRequest === undefined ? body.toString('utf8') : JSON.stringify(changedRequest);
    const honest = await ask(
      query === undefined ? path : `${path}?${query}`,
      seen.method,
      seen.method === 'GET' ? undefined : text,
    );
    if (!lies) return write(response, honest);
    if (lie.answers !== undefined) return lie.answers(response, honest, liedAt);
    if (honest.status !== 200) return write(response, honest);
    const before = running.told.length;
    const changed = await lieIn(
      lie,
      liedAt,
      parsed(honest.bytes),
      () => void running.told.push(endpoint),
    );
    write(
      response,
      running.told.length === before
        ? honest
        : { ...honest, bytes: Buffer.from(JSON.stringify(changed)) },
    );
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // As above.
  return {
    port,
    strays,
    session(wallet, lie, how = {}) {
      const id = `e${sessions.size}`;
      const running: Running = { wallet, lie, how, seen: [], calls: [], told: [], faults: [] };
      sessions.set(id, running);
      return { url: `http://127.0.0.1:${port}/${id}`, ...running };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const NOT_FOUND: Draft = {
  status: 404,
  headers: { 'content-type': 'text/plain' },
  bytes: Buffer.from('There is no such page.'),
};

/** Sends a draft unchanged. */
export function write(response: ServerResponse, { status, headers, bytes }: Draft): void {
  const {
    'content-length': _length,
    'transfer-encoding': _chunked,
    connection: _connection,
    ...rest
  } = headers;
  response.writeHead(status, rest);
  response.end(bytes);
}

// The honest service answers with a JSON object.
const parsed = (bytes: Buffer): Json => JSON.parse(bytes.toString('utf8')) as Json;

function requestIn({ method, path }: Seen, body: Buffer): Json {
  if (method !== 'GET') return parsed(body);
  return Object.fromEntries(new URL(path, 'http://front.test').searchParams);
}

async function lieIn(
  lie: EvilLie,
  told: LieContext,
  truth: unknown,
  note: () => void,
): Promise<unknown> {
  const say = async (says: Says | undefined, value: unknown): Promise<unknown> => {
    if (says === undefined || !isJson(value)) return value;
    note();
    return says(value, told);
  };
  const swap = async (value: unknown): Promise<unknown> => {
    if (!isJson(value)) return value;
    return say(lie.swap, { ...value, quote: await say(lie.quote, value['quote']) });
  };
  if (told.endpoint === 'quote') return say(lie.quote, truth);
  if (told.endpoint === 'build') return swap(truth);
  if (told.endpoint === 'balance') {
    return Array.isArray(truth)
      ? Promise.all(truth.map((balance) => say(lie.balance, balance)))
      : say(lie.balance, truth);
  }
  if (!isJson(truth)) return truth;
  if (told.endpoint === 'parse') {
    const { offers } = truth;
    return {
      ...truth,
      offers: Array.isArray(offers)
        ? await Promise.all(offers.map((offer) => say(lie.offer, offer)))
        : offers,
    };
  }
  const built = 'swap' in truth ? { swap: await swap(truth['swap']) } : {};
  return say(lie.step, { ...truth, offer: await say(lie.offer, truth['offer']), ...built });
}
