/**
 * The `request` of undici, sent through a client that pays.
 *
 * @module exact-change/undici
 */
import { stringify } from 'node:querystring';
import { addAbortSignal, Readable } from 'node:stream';
import type { Client } from '../src/client.js';
import { refuseUnknown } from '../src/internal/options.js';
import { receiptOf, type Receipt } from '../src/receipt.js';
import { checkBody } from './check-body.js';
import { checkClient } from './check-client.js';
import { chunksOf } from './chunks.js';

/** The supported options of undici's `request`. An unknown option is refused. */
export interface UndiciRequestOptions {
  /** Default PUT with a body, otherwise GET. `fetch` refuses a body with GET or HEAD. */
  readonly method?: string | undefined;
  /** An object, pairs, or a flat list of names and values. */
  readonly headers?:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | readonly string[]
    | Iterable<readonly [string, string | readonly string[] | undefined]>
    | null
    | undefined;
  readonly body?: RequestInit['body'] | Readable | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | null | undefined;
  /** A value that the response returns unchanged. */
  readonly opaque?: unknown;
  /** A dispatcher of the undici version that the client's `fetch` belongs to. */
  readonly dispatcher?: unknown;
  /** As in `client.fetch`. */
  readonly idempotencyKey?: string | undefined;
  /** As in `client.fetch`. */
  readonly repeatable?: boolean | undefined;
}

const NAMES: readonly (keyof UndiciRequestOptions)[] = [
  ...(['method', 'headers', 'body', 'query', 'signal', 'opaque', 'dispatcher'] as const),
  ...(['idempotencyKey', 'repeatable'] as const),
];

/** A response of undici's `request`, with the receipt of the payment. */
export interface UndiciResponse {
  readonly statusCode: number;
  readonly statusText: string;
  /** Names are in lower case. `set-cookie` is a list; other repeated headers are joined. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** A stream, with methods that read it whole. */
  readonly body: Readable &
    Pick<Response, 'text' | 'json' | 'arrayBuffer' | 'blob' | 'formData' | 'bodyUsed' | 'body'> & {
      bytes(): Promise<Uint8Array>;
      /**
       * Discards the body: reads it to its end, so that a paid answer counts as delivered, or
       * cancels it beyond the limit (default 131,072 bytes). Rejects only if the signal is aborted.
       */
      dump(options?: {
        readonly limit?: number | undefined;
        readonly signal?: AbortSignal | null | undefined;
      }): Promise<null>;
    };
  readonly trailers: Readonly<Record<string, string>>;
  readonly opaque: unknown;
  readonly context: object;
  /** The current receipt, as `receiptOf` returns it. */
  readonly receipt: Receipt | undefined;
}

/**
 * Returns a function like undici's `request` that sends through `client.fetch`, which pays a 402.
 * It follows no redirects. The body of a compressed answer comes decoded, without the headers
 * `content-encoding` and `content-length`. Trailers are empty.
 *
 * It asks for no zstd, and a call should not: some versions of `fetch` decode it, but the answer
 * keeps both headers.
 *
 * Throws `ConfigError` (`invalid_option`) at once if `client` is no client.
 *
 * @example
 * const request = undiciRequest(client);
 * const { statusCode, body } = await request('https://api.example.com/premium');
 */
export function undiciRequest(
  client: Pick<Client, 'fetch'>,
): (url: string | URL, options?: UndiciRequestOptions) => Promise<UndiciResponse> {
  checkClient(client, 'fetch');
  return async (url, options = {}) => {
    refuseUnknown(options, NAMES);
    const { method, headers, query = {}, body, signal, opaque = null, ...rest } = options;
    checkBody('body', body);
    const target = new URL(url);
    const added = queryText(query);
    if (added !== '') target.search += `${target.search === '' ? '' : '&'}${added}`;
    const init = {
      ...rest,
      ...{
        headers: withCodings(pairsOf(headers ?? {})),
        method: method || (body ? 'PUT' : 'GET'),
        redirect: 'manual',
        signal: signal ?? null,
      },
      ...(body ? { body, duplex: 'half' } : {}),
    };
    // undici's `fetch` takes more options than the standard types have, such as `dispatcher`.
    const response = await client.fetch(target, Object.assign({}, init) as RequestInit);
    return {
      ...{ statusCode: response.status, statusText: response.statusText },
      ...{ headers: headersOf(response), body: bodyOf(response) },
      ...{ trailers: {}, opaque, context: {} },
      get receipt() {
        return receiptOf(response);
      },
    };
  };
}

/** Returns a query as undici sends it: only text, numbers and booleans are not empty there. */
function queryText(query: Readonly<Record<string, unknown>>): string {
  const lists = Object.entries(query).map(
    ([name, value]) => [name, [value].flat().map((item) => (isPlain(item) ? item : ''))] as const,
  );
  return stringify(Object.fromEntries(lists));
}

function isPlain(item: unknown): item is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof item);
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
      .flatMap((item): [string, string][] =>
        item === undefined ? [] : [[String(name), String(item)]],
      ),
  );
}

/**
 * Asks for codings that each version of `fetch` decodes. Newer ones ask for zstd by themselves, and
 * whether a body was decoded cannot be seen. For a range, `fetch` asks that nothing is encoded.
 */
function withCodings(pairs: readonly [string, string][]): readonly [string, string][] {
  const isSet = pairs.some(([name]) => /^(?:accept-encoding|range)$/i.test(name));
  return isSet ? pairs : [...pairs, ['accept-encoding', 'br, gzip, deflate']];
}

/** Content codings that `fetch` decodes. It decodes no body with any other coding. */
const DECODED = ['gzip', 'x-gzip', 'deflate', 'br'];

/** Returns the headers, without encoding and length if `fetch` has decoded the body. */
function headersOf({ headers, body }: Response): Record<string, string | string[]> {
  const codings = (headers.get('content-encoding') ?? 'identity').toLowerCase().split(',');
  const isDecoded = body !== null && codings.every((coding) => DECODED.includes(coding.trim()));
  const untrue = isDecoded ? ['content-encoding', 'content-length'] : [];
  const pairs = [...headers].filter(([name]) => !untrue.includes(name));
  const cookies = pairs.flatMap(([name, value]) => (name === 'set-cookie' ? [value] : []));
  return { ...Object.fromEntries(pairs), ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) };
}

/** Returns the body as a stream. Reading begins only when the caller reads. */
function bodyOf(response: Response): UndiciResponse['body'] {
  const stream = Readable.from(chunksOf(response.body), { objectMode: false });
  const body = Object.assign(stream, {
    text: () => response.text(),
    json: (): Promise<unknown> => response.json(),
    arrayBuffer: () => response.arrayBuffer(),
    blob: () => response.blob(),
    formData: () => response.formData(),
    bytes: async () => new Uint8Array(await response.arrayBuffer()),
    dump: dumpOf(stream),
    ...{ body: response.body, bodyUsed: false },
  });
  return Object.defineProperty(body, 'bodyUsed', { get: () => response.bodyUsed });
}

function dumpOf(body: Readable): UndiciResponse['body']['dump'] {
  return async ({ limit = 131_072, signal } = {}) => {
    const chunks: AsyncIterable<Uint8Array> = signal ? addAbortSignal(signal, body) : body;
    let left = limit;
    try {
      for await (const { length } of chunks) {
        left -= length;
        if (left < 0) break;
      }
    } catch {
      // It broke off, or was read before: either way there is nothing more to discard.
    }
    if (signal?.aborted) throw signal.reason;
    return null;
  };
}
