import type { Clock } from './clock.js';
import { itemOf } from './plan.js';
import { addressOf, readWire } from './wire.js';

/**
 * Counts of the library's calls and requests. The query of a URL identifies the purchase, also
 * after redirects.
 */
export interface Traffic {
  /** Records the start of a call that may request a price. */
  begins(method: string, url: string): void;
  /** Records the start of a call that passes an earlier payment header. */
  hands(header: string): void;
  /** Records a request at a seller. */
  comes(method: string, url: URL, headers: Headers): void;
  /** Number of calls by method, path and query. */
  readonly calls: ReadonlyMap<string, number>;
  /** Number of calls with an earlier header, by the wallet's signature in it. */
  readonly handed: ReadonlyMap<string, number>;
  /** Number of requests without a payment, by method, path and query. */
  readonly asked: ReadonlyMap<string, number>;
  /** Requests with a payment, by the wallet's signature. */
  readonly shown: ReadonlyMap<string, readonly Showing[]>;
}

export interface Showing {
  readonly method: string;
  readonly host: string;
  readonly item: string;
  /** True if the payment has an id, by which the seller recognises a repeated request. */
  readonly hasId: boolean;
  readonly at: number;
}

/** Returns the key of a request. A redirect adds to the query, so its target has another key. */
const placeOf = (method: string, { pathname, search }: URL): string =>
  `${method} ${pathname}${search}`;

export function createTraffic({ now }: Pick<Clock, 'now'>): Traffic {
  const calls = new Map<string, number>();
  const handed = new Map<string, number>();
  const asked = new Map<string, number>();
  const shown = new Map<string, Showing[]>();
  const add = (counts: Map<string, number>, name: string) =>
    void counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    ...{ calls, handed, asked, shown },
    begins: (method, url) => add(calls, placeOf(method, new URL(url))),
    hands: (header) => add(handed, readHeader(header).signature),
    comes(method, url, headers) {
      const header = paymentIn(headers);
      if (header === undefined) return add(asked, placeOf(method, url));
      const { signature, hasId } = readHeader(header);
      const showing = { method, host: url.host, item: itemOf(url), hasId, at: now() };
      shown.set(signature, [...(shown.get(signature) ?? []), showing]);
    },
  };
}

export function paymentIn(headers: Headers): string | undefined {
  return headers.get('payment-signature') ?? headers.get('x-payment') ?? undefined;
}

/** Reads a payment header with the simulator's own code. */
export function readHeader(header: string): {
  readonly bytes: Uint8Array;
  readonly signature: string;
  readonly hasId: boolean;
} {
  const { payload, extensions } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { transaction: string };
    extensions?: object;
  }; // The library writes a valid header.
  const bytes = Buffer.from(payload.transaction, 'base64');
  // The fee payer's signature comes first, then the wallet's.
  const signature = readWire(bytes).signatures[1];
  return {
    bytes,
    signature: signature === undefined ? '' : addressOf(signature),
    hasId: extensions !== undefined,
  };
}
