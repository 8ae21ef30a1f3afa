import type { Attributes } from '@opentelemetry/api';
import type { ClientEvent } from '../../src/events.js';
import { redact } from '../../src/internal/redact.js';
import type { Receipt } from '../../src/receipt.js';

/** Longest URL in an attribute. Characters. */
const MAX_URL = 1_024;

/** Methods of the semantic conventions. Any other is `_OTHER`: callers can make up methods. */
const METHODS: ReadonlySet<string> = new Set([
  ...['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'],
]);

/** Returns the attributes of an HTTP call. Its URL has no user, no query, and no known key. */
export function callAttributes({
  url,
  method,
}: {
  readonly url: string;
  readonly method: string;
}): Attributes {
  const { origin, pathname } = new URL(url);
  return {
    'http.request.method': methodOf(method),
    'url.full': redact(`${origin}${pathname}`).slice(0, MAX_URL),
    ...placeAttributes(new URL(url).host),
  };
}

/** Returns a method for an attribute or for the name of a span. */
export const methodOf = (method: string): string => (METHODS.has(method) ? method : '_OTHER');

/** Returns the attributes of a host, and of its port if it has one. */
export function placeAttributes(host: string): Attributes {
  const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return {
    'server.address': name,
    ...(port === undefined ? {} : { 'server.port': Number(port) }),
  };
}

/** Returns the attribute of a failure; empty without a failure. */
export const errorAttributes = (failed: string | undefined): Attributes =>
  failed === undefined ? {} : { 'error.type': failed };

export const rpcAttributes = ({ method, host, failed }: ClientEvent<'rpc.called'>): Attributes => ({
  'rpc.system.name': 'jsonrpc',
  'rpc.method': method,
  ...(host === undefined ? {} : placeAttributes(host)),
  ...errorAttributes(failed),
});

export const journalAttributes = ({ step, failed }: ClientEvent<'journal.called'>): Attributes => ({
  'db.system.name': 'exact_change.journal',
  'db.operation.name': step,
  ...errorAttributes(failed),
});

export const receiptAttributes = ({ state, payment, cost }: Receipt): Attributes => ({
  'exact_change.payment.state': state,
  ...(payment.signature === undefined ? {} : { 'exact_change.signature': payment.signature }),
  ...(cost.usd === undefined ? {} : { 'exact_change.payment.cost_usd': cost.usd }),
});
