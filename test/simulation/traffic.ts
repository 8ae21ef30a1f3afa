import type { Clock } from './clock.js';
import { addressOf, readWire } from './wire.js';

/**
 * What the library's requests look like from outside. Purchases are told by the query of their
 * address, wherever redirects lead.
 */
export interface Traffic {
  /** A call of the library begins that may ask for a price. */
  begins(method: string, url: string): void;
  /** A call begins that hands in the header of a payment that it got before. */
  hands(header: string): void;
  /** A request comes to a seller. */
  comes(method: string, url: URL, headers: Headers): void;
  readonly calls: ReadonlyMap<string, number>;
  readonly handed: ReadonlyMap<string, number>;
  /** Requests without a payment, by method, path and query. */
  readonly asked: ReadonlyMap<string, number>;
  /** Requests with one, by the wallet's signature of it. */
  readonly shown: ReadonlyMap<string, readonly Showing[]>;
}

export interface Showing {
  readonly method: string;
  readonly host: string;
  /**
   * The seller gave the payment an id, or was given one by the library: it knows a second request
   * for the first.
   */
  readonly hasId: boolean;
  readonly at: number;
}

/** A redirect adds a query, and its target is a place of its own. */
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
      const showing = { method, host: url.host, hasId, at: now() };
      shown.set(signature, [...(shown.get(signature) ?? []), showing]);
    },
  };
}

export function paymentIn(headers: Headers): string | undefined {
  return headers.get('payment-signature') ?? headers.get('x-payment') ?? undefined;
}

/** What a payment header says, read by code of the simulator's own. */
export function readHeader(header: string): {
  readonly bytes: Uint8Array;
  readonly signature: string;
  readonly hasId: boolean;
} {
  const { payload, extensions } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { transaction: string };
    extensions?: object;
  }; // The library's.
  const bytes = Buffer.from(payload.transaction, 'base64');
  // The fee payer's comes first.
  const own = readWire(bytes).signatures[1];
  return {
    bytes,
    signature: own === undefined ? '' : addressOf(own),
    hasId: extensions !== undefined,
  };
}
