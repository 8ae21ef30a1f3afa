import { createHandler } from '../../adapters/http/handler.js';
import { local } from '../../src/index.js';
import { NETWORK } from './places.js';
import type { Random } from './random.js';
import type { Served } from './seller.js';

/** Shares of requests with each fault of the service at a client's `apiUrl`. */
export interface ServiceState {
  /** Share of requests that it answers with an error, or not at all. */
  failing: number;
  /** Share of answers with another amount, or with other bytes in a transaction. */
  lying: number;
}

/** Serves the REST interface of the library, with faults. */
export function createService(
  state: Readonly<ServiceState>,
  random: Random,
  ports: {
    readonly rpcUrl: readonly string[];
    readonly jupiterUrl: string;
    readonly fetch: typeof fetch;
  },
): (url: URL, init: { readonly method: string; readonly body: string }) => Promise<Served> {
  const handler = createHandler(local({ ...ports, network: NETWORK }));
  return async (url, { method, body }) => {
    const ms = random.int(5, 60);
    if (random.chance(state.failing))
      return random.pick(['lost', 'hangs', { ms, response: new Response('', { status: 503 }) }]);
    const response = await handler(
      new Request(url, {
        method,
        ...(method === 'GET' ? {} : { body, headers: { 'content-type': 'application/json' } }),
      }),
    );
    if (!response.ok || !random.chance(state.lying)) return { ms, response };
    const answer: unknown = await response.json();
    return { ms, response: Response.json(changed(answer, random)) };
  };
}

/** Returns JSON with one of its texts changed: an amount, an address, or a transaction. */
function changed(answer: unknown, random: Random): unknown {
  const texts = textsIn(answer);
  const [path = []] = texts.length === 0 ? [] : [random.pick(texts)];
  return at(answer, path, (text) => {
    if (!/^\d+$/.test(text)) {
      const place = random.int(0, text.length - 1);
      const other = random.pick(['A', 'b', '9']);
      return `${text.slice(0, place)}${other}${text.slice(place + 1)}`;
    }
    const amount = BigInt(text);
    return String(random.pick([0n, 1n, amount / 2n, amount - 1n, amount + 1n, amount * 2n]));
  });
}

type Path = readonly string[];

function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string' && value !== '') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => textsIn(part, [...path, name]));
}

function at(value: unknown, [name, ...rest]: Path, change: (text: string) => string): unknown {
  if (name === undefined) return typeof value === 'string' ? change(value) : value;
  if (Array.isArray(value))
    return value.map((part: unknown, index) =>
      String(index) === name ? at(part, rest, change) : part,
    );
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, key === name ? at(part, rest, change) : part]),
  );
}
