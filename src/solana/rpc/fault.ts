import { parseUrl } from '../../internal/parse.js';

type Kind =
  /** There is no answer, or an answer that means "not now". */
  | 'unavailable'
  | 'rate_limited'
  | 'timeout'
  /** The answer does not have the shape of the method's result. */
  | 'invalid'
  /** A JSON-RPC error that a repeated request would get again. */
  | 'refused'
  | 'foreign';

interface FaultInit {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  readonly said?: string;
  readonly code?: number;
  readonly networks?: { readonly expected: string; readonly actual: string };
}

/** Why a node did not answer a call. It stays in this folder: callers get a `TransportError`. */
export class Fault extends Error {
  readonly retryAfterMs: number | undefined;
  readonly said: string | undefined;
  readonly code: number | undefined;
  readonly networks: FaultInit['networks'];
  /** The node's host as it may be shown: see {@link shownHost}. */
  host: string | undefined;

  constructor(
    readonly kind: Kind,
    /** The end of an error's sentence, such as "it answered with status 503". */
    readonly reason: string,
    init: FaultInit = {},
  ) {
    super(reason, 'cause' in init ? { cause: init.cause } : undefined);
    this.retryAfterMs = init.retryAfterMs;
    this.said = init.said;
    this.code = init.code;
    this.networks = init.networks;
  }

  /** Returns a copy for a later call, with the time that is left to wait. */
  later(retryAfterMs: number): Fault {
    const fault = new Fault(this.kind, this.reason, { retryAfterMs });
    fault.host = this.host;
    return fault;
  }

  get isTransient(): boolean {
    return this.kind !== 'refused' && this.kind !== 'foreign';
  }
}

/** JSON-RPC errors that the request itself causes: another node or attempt would not help. */
const REFUSALS: ReadonlySet<number> = new Set([
  -32600, -32601, -32602, -32002, -32003, -32006, -32013, -32015,
]);
/** JSON-RPC errors that some providers send instead of status 429. */
const RATE_LIMITS: ReadonlySet<number> = new Set([429, -32429, -32029]);

export function jsonRpcFault(code: number, said: string | undefined): Fault {
  const kind = RATE_LIMITS.has(code)
    ? 'rate_limited'
    : REFUSALS.has(code)
      ? 'refused'
      : 'unavailable';
  return new Fault(kind, `it answered with JSON-RPC error ${code}`, {
    code,
    ...(said === undefined ? {} : { said }),
  });
}

/** Returns the fault that explains most, out of the faults of several nodes. */
export function worstFault(faults: readonly Fault[]): Fault {
  const order: readonly Kind[] = [
    'foreign',
    'refused',
    'rate_limited',
    'invalid',
    'timeout',
    'unavailable',
  ];
  const sorted = [...faults].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  return sorted[0] ?? new Fault('unavailable', 'no node was asked');
}

/** Hosts of the public nodes, which are open to all. */
export const PUBLIC = /^api\.(?:mainnet-beta|devnet|testnet)\.solana\.com$/;
/**
 * Returns the part of a node's host that may be shown; undefined if the url is invalid. The first
 * labels of a provider's host may identify a customer, so only the last two labels are shown.
 */
export function shownHost(url: string): string | undefined {
  const address = parseUrl(url);
  if (address === undefined) return undefined;
  const { host, hostname } = address;
  const labels = hostname.split('.');
  const isWhole = labels.length < 3 || PUBLIC.test(hostname) || /^[\d.]+$|^\[/.test(hostname);
  return isWhole ? host : `*.${labels.slice(-2).join('.')}`;
}
