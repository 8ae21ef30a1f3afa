/**
 * The `request` of undici, for code that is written for it, by a client that pays.
 *
 * @module exact-change/undici
 */
import { Readable } from 'node:stream';
import type { Client } from '../src/client.js';
import { refuseUnknown } from '../src/internal/options.js';
import { receiptOf, type Receipt } from '../src/receipt.js';

/** What is taken of the options of undici's `request`; any other is refused. */
export interface UndiciRequestOptions {
  readonly method?: string | undefined;
  /** An object, pairs, or a flat list of names and values. */
  readonly headers?:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | readonly string[]
    | Iterable<readonly [string, string | readonly string[] | undefined]>
    | null
    | undefined;
  readonly body?: BodyInit | Readable | null | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | null | undefined;
  /** Given back with the answer. */
  readonly opaque?: unknown;
  /** Of the version of undici that the client's `fetch` is of. */
  readonly dispatcher?: unknown;
  /** This and the next as `client.fetch` takes them. */
  readonly idempotencyKey?: string | undefined;
  readonly repeatable?: boolean | undefined;
}

const NAMES: readonly (keyof UndiciRequestOptions)[] = [
  ...(['method', 'headers', 'body', 'query', 'signal', 'opaque', 'dispatcher'] as const),
  ...(['idempotencyKey', 'repeatable'] as const),
];

/** An answer as undici's `request` gives it, with the receipt of what was paid. */
export interface UndiciResponse {
  readonly statusCode: number;
  readonly statusText: string;
  /** Names in lower case; each `set-cookie` for itself. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** A stream, or read whole by one of its methods. */
  readonly body: Readable & Pick<Response, 'text' | 'json' | 'arrayBuffer' | 'blob' | 'formData'>;
  readonly trailers: Readonly<Record<string, string>>;
  readonly opaque: unknown;
  readonly context: object;
  /** As `receiptOf` gives it, each time as it stands. */
  readonly receipt: Receipt | undefined;
}

/**
 * A `request` as undici has it, by `client.fetch`: a 402 is paid on the way. Redirects are not
 * followed. An answer in gzip and the like comes decoded, without the headers that say otherwise,
 * and trailers are empty.
 *
 * @example
 * const request = undiciRequest(client);
 * const { statusCode, body } = await request('https://api.example.com/premium');
 */
export function undiciRequest(
  client: Pick<Client, 'fetch'>,
): (url: string | URL, options?: UndiciRequestOptions) => Promise<UndiciResponse> {
  return async (url, options = {}) => {
    refuseUnknown(options, NAMES);
    const { headers, query = {}, body, signal, opaque = null, ...rest } = options;
    const target = new URL(url);
    for (const [name, value] of Object.entries(query))
      for (const one of [value].flat()) target.searchParams.append(name, String(one));
    const init = {
      ...rest,
      ...{ headers: pairsOf(headers ?? {}), redirect: 'manual', signal: signal ?? null },
      ...(body === undefined || body === null ? {} : { body, duplex: 'half' }),
    };
    // What fetch of undici takes beyond the types of the standard.
    const response = await client.fetch(target, Object.assign({}, init) as RequestInit);
    return {
      ...{ statusCode: response.status, statusText: response.statusText },
      ...{ headers: headersOf(response.headers), body: bodyOf(response) },
      ...{ trailers: {}, opaque, context: {} },
      get receipt() {
        return receiptOf(response);
      },
    };
  };
}

function pairsOf(headers: NonNullable<UndiciRequestOptions['headers']>): [string, string][] {
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  const [first] = entries;
  const pairs =
    typeof first === 'string'
      ? entries.flatMap((name, index) => (index % 2 === 0 ? [[name, entries[index + 1]]] : []))
      : entries;
  return pairs.flatMap(([name, value]) =>
    [value]
      .flat()
      .flatMap((one): [string, string][] =>
        one === undefined ? [] : [[String(name), String(one)]],
      ),
  );
}

/** What fetch has decoded has neither this length nor this encoding. */
function headersOf(headers: Headers): Record<string, string | string[]> {
  const encoding = headers.get('content-encoding') ?? 'identity';
  const untrue = encoding === 'identity' ? [] : ['content-encoding', 'content-length'];
  const all = [...headers].filter(([name]) => !untrue.includes(name));
  const cookies = all.flatMap(([name, value]) => (name === 'set-cookie' ? [value] : []));
  return { ...Object.fromEntries(all), ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) };
}

/** Nothing is read before the first of its readers asks. */
function bodyOf(response: Response): UndiciResponse['body'] {
  async function* chunks(): AsyncIterable<Uint8Array> {
    const reader = response.body?.getReader();
    try {
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
        yield part.value;
    } finally {
      await reader?.cancel();
    }
  }
  return Object.assign(Readable.from(chunks(), { objectMode: false }), {
    text: () => response.text(),
    json: (): Promise<unknown> => response.json(),
    arrayBuffer: () => response.arrayBuffer(),
    blob: () => response.blob(),
    formData: () => response.formData(),
  });
}
