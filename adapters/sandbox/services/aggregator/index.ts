import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSolanaRpc, type Address } from '@solana/kit';
import type { Chain, SandboxMint } from '../../types.js';
import { FaultBoard, type ServiceControls } from '../faults.js';
import { listen, pathOf, readJson, sendJson, sendPreflight } from '../http.js';
import { ENDPOINTS, type World } from './answers.js';
import { RateLimiter, TOO_MANY_REQUESTS, type RateLimit } from './limiter.js';
import { Markets, type MarketControls } from './markets.js';
import { seedPools, type VenueBehaviour } from './pools.js';
import { Refusal } from './problems.js';

export type { Listed, MarketControls } from './markets.js';
export type { RateLimit } from './limiter.js';
export type { VenueBehaviour } from './pools.js';

/** Rewrites a JSON answer before it is sent. It gets a copy, which it may change and return. */
// The shape of the answer depends on the endpoint, so a lie accesses its fields by name.
export type Lie = (
  answer: Record<string, unknown>,
  request: { readonly query: URLSearchParams; readonly body: unknown },
) => unknown;

/**
 * Endpoints: `GET /swap/v1/quote`, `POST /swap/v1/swap-instructions`, `POST /swap/v1/swap`,
 * `GET /swap/v1/program-id-to-label`, `GET /swap/v2/build`.
 */
export interface AggregatorControls extends ServiceControls, MarketControls {
  /**
   * Sets how the swap program on the chain fills or attacks swaps, independent of quotes: see
   * `venue/README.md`. `{}` is honest.
   */
  setVenue(behaviour: VenueBehaviour): void;
  /** Changes the answers of an endpoint (path, or method and path); undefined ends the lie. */
  lie(endpoint: string, lie: Lie | undefined): void;
  /**
   * Sets a rate limit over all endpoints together, with the 429s of Jupiter's gateway. Undefined,
   * the default, is no limit.
   */
  setRateLimit(limit: RateLimit | undefined): void;
  /**
   * Ends all faults, latency, lies and the rate limit, and restores the markets and the venue. Call
   * counts stay.
   */
  restore(): void;
}

export interface AggregatorService {
  /** Base URL of `/swap/v1` and `/swap/v2`. */
  readonly url: string;
  readonly controls: AggregatorControls;
  /**
   * Makes a pool and a market for a new mint. `proceedsTo` is the wallet that gets the tokens with
   * which its buyers pay.
   */
  list(mint: SandboxMint, proceedsTo: Address | undefined): Promise<void>;
  close(): Promise<void>;
}

/** Serves Jupiter's Swap API; its swaps execute on the chain, through the venue program. */
export async function startAggregator(options: {
  port: number;
  chain: Chain;
  rpcUrl: string;
}): Promise<AggregatorService> {
  const pools = await seedPools(options.chain);
  const markets = new Markets();
  const world: World = {
    chain: options.chain,
    pools,
    markets,
    rpc: createSolanaRpc(options.rpcUrl),
  };
  const lies = new Map<string, Lie>();
  const limiter = new RateLimiter();
  const board = new FaultBoard();
  const listener = await listen(
    options.port,
    board,
    (request, response) => void serve(world, lies, limiter, request, response),
  );

  const extra = {
    setVenue: (behaviour: VenueBehaviour) => pools.setBehaviour(behaviour),
    lie: (endpoint: string, lie: Lie | undefined) =>
      void (lie === undefined ? lies.delete(endpoint) : lies.set(endpoint, lie)),
    setRateLimit: (limit: RateLimit | undefined) => limiter.set(limit),
    restore: () => {
      board.clearFaults();
      markets.restoreMarkets();
      pools.setBehaviour({});
      lies.clear();
      limiter.set(undefined);
    },
  };
  return {
    url: listener.url,
    controls: Object.assign(board, marketControls(markets), extra),
    list: async (mint, proceedsTo) => {
      await pools.add(mint, proceedsTo);
      markets.list(mint);
    },
    close: () => listener.stop(),
  };
}

const EXPOSED =
  'x-ratelimit-current, x-ratelimit-remaining, x-ratelimit-reset, x-api-gateway-request-id';

async function serve(
  world: World,
  lies: ReadonlyMap<string, Lie>,
  limiter: RateLimiter,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'OPTIONS') return sendPreflight(request, response);
  const { passes, headers: limits } = limiter.take(Date.now());
  const headers = {
    ...limits,
    'x-api-gateway-request-id': randomUUID(),
    'access-control-expose-headers': EXPOSED,
  };
  const path = pathOf(request);
  const call = `${request.method ?? 'GET'} ${path}`;
  try {
    if (!passes) return sendJson(response, 429, TOO_MANY_REQUESTS, headers);
    const endpoint = ENDPOINTS[call];
    if (endpoint === undefined) return sendJson(response, 404, { error: 'Not Found' }, headers);
    const query = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams;
    const body = request.method === 'POST' ? await readJson(request) : undefined;
    const answer = await endpoint(world, query, body);
    const lie = lies.get(call) ?? lies.get(path);
    sendJson(
      response,
      200,
      lie === undefined ? answer : lie(copy(answer), { query, body }),
      headers,
    );
  } catch (error) {
    if (response.headersSent || response.destroyed) return;
    if (error instanceof Refusal)
      return sendJson(
        response,
        error.status,
        { error: error.message, errorCode: error.errorCode },
        headers,
      );
    sendJson(
      response,
      500,
      { error: error instanceof Error ? error.message : 'Internal Server Error' },
      headers,
    );
  }
}

function copy(answer: unknown): Record<string, unknown> {
  // Every endpoint returns an object.
  return JSON.parse(JSON.stringify(answer)) as Record<string, unknown>;
}

function marketControls(markets: Markets): MarketControls {
  return {
    setPrice: (...args) => markets.setPrice(...args),
    noRoute: (...args) => markets.noRoute(...args),
    noExactOut: (...args) => markets.noExactOut(...args),
    untradable: (...args) => markets.untradable(...args),
    setPriceImpact: (...args) => markets.setPriceImpact(...args),
    restoreMarkets: () => markets.restoreMarkets(),
  };
}
