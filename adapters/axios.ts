/**
 * axios with requests that pay.
 *
 * @module exact-change/axios
 */
import type { Client } from '../src/client.js';
import { ExactChangeError, isExactChangeError } from '../src/errors.js';
import { refuse } from '../src/internal/options.js';
import { isRecord } from '../src/internal/record.js';
import { passOnReceipt } from '../src/receipt.js';
import { checkBody } from './check-body.js';
import { checkClient } from './check-client.js';

/** The part of an axios instance that `wrapAxios` changes. */
export interface AxiosLike {
  readonly defaults: { adapter?: unknown; env?: unknown };
}

/**
 * Makes an instance of axios (1.12 or newer), or axios itself, send all requests through a client.
 * The client pays a 402 inside the request, so interceptors and retry plugins see one request and
 * one answer. The receipt is `receiptOf(response.request)`. If a payment is refused, axios throws
 * an `AxiosError`; its `cause` is the error of this library.
 *
 * axios then uses `fetch`, so options of its `node:http` adapter, such as `httpAgent` and `proxy`,
 * have no effect.
 *
 * Throws `ConfigError` (`invalid_option`) at once if `client` is no client.
 *
 * @example
 * const api = wrapAxios(axios.create({ baseURL: 'https://api.example.com' }), client);
 * const { data } = await api.get('/premium');
 */
export function wrapAxios<T extends AxiosLike>(instance: T, client: Pick<Client, 'fetch'>): T {
  checkClient(client, 'fetch');
  const { defaults } = instance;
  const fetch: Client['fetch'] = async (input, init) => {
    try {
      const response = await client.fetch(input, init);
      // axios makes its own response, but keeps the request, so put the receipt on the request.
      if (typeof input === 'object') passOnReceipt(response, input);
      return response;
    } catch (error) {
      throw withoutResponse(error);
    }
  };
  const given = typeof defaults.env === 'object' ? defaults.env : {};
  const env = { ...formRequest(), ...given, ...formData(), fetch };
  Object.assign(defaults, { adapter: 'fetch', env });
  return instance;
}

/**
 * Returns the form that axios makes of an object: its own, in Node, is a stream that no fetch can
 * send. Refuses a stream as a field, because a form would send its name. Node 16 has no `FormData`.
 */
function formData(): { readonly FormData?: typeof globalThis.FormData } {
  if (typeof globalThis.FormData === 'undefined') return {};
  return {
    FormData: class extends globalThis.FormData {
      override append(
        ...field:
          | [name: string, value: string | Blob]
          | [name: string, value: Blob, file?: string | undefined]
      ): void {
        if (isRecord(field[1]) && !(field[1] instanceof Blob))
          throw refuse('data', 'may have text and files (Blob) as fields of a form.');
        Reflect.apply(super.append, this, field);
      }
    },
  };
}

/**
 * Returns a `Request` for axios that sends each body as it is, or refuses it: the seller would be
 * paid for a body that it cannot read. Node 16 has no `Request`.
 */
function formRequest(): { readonly Request?: typeof globalThis.Request } {
  if (typeof globalThis.Request === 'undefined') return {};
  return {
    Request: class extends globalThis.Request {
      constructor(input: RequestInfo | URL, init?: RequestInit) {
        super(input, init && sendable(init));
      }
    },
  };
}

function sendable(init: RequestInit): RequestInit {
  const { body } = init;
  checkBody('data', body);
  if (!(body instanceof FormData)) return init;
  // In Node, axios gives a form the type of its other posts, which lacks the boundary.
  const headers = new Headers(init.headers);
  headers.delete('content-type');
  return { ...init, headers };
}

/** Copies an error without its `response`: axios writes to it, and a `Response` is read-only. */
function withoutResponse(error: unknown): unknown {
  if (!isExactChangeError(error)) return error;
  const { code, message, details, funds, moved, retry, untrusted, name, stack } = error;
  const copy = new ExactChangeError(code, message, {
    ...{ details, funds, moved, retry },
    // The cause of an `AxiosError` is this copy; up to axios 1.13.2 it is the cause of this copy.
    ...('cause' in error ? { cause: error } : {}),
    ...(untrusted === undefined ? {} : { untrusted }),
  });
  Object.assign(copy, { name, stack });
  Object.setPrototypeOf(copy, Reflect.getPrototypeOf(error));
  return copy;
}
