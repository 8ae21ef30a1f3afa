type Kind =
  /** No answer, or one that says "not now". */
  | 'unavailable'
  | 'rate_limited'
  | 'timeout'
  /** An answer that is not what the method returns. */
  | 'invalid'
  /** A JSON-RPC error that the same question will get again. */
  | 'refused'
  /** It serves another network. */
  | 'foreign';

interface FaultInit {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  /** The node's own words. */
  readonly said?: string;
  /** Of a JSON-RPC error. */
  readonly code?: number;
  readonly networks?: { readonly expected: string; readonly actual: string };
}

/** Why one node did not answer one call. Stays in this folder: callers see a `TransportError`. */
export class Fault extends Error {
  readonly retryAfterMs: number | undefined;
  readonly said: string | undefined;
  readonly code: number | undefined;
  readonly networks: FaultInit['networks'];
  /** Of the node, as far as it may be shown: see {@link shownHost}. */
  host: string | undefined;

  constructor(
    readonly kind: Kind,
    /** A sentence part of ours: "it answered with status 503". */
    readonly reason: string,
    init: FaultInit = {},
  ) {
    super(reason, 'cause' in init ? { cause: init.cause } : undefined);
    this.retryAfterMs = init.retryAfterMs;
    this.said = init.said;
    this.code = init.code;
    this.networks = init.networks;
  }

  /** The same, for a call that came after it. */
  later(retryAfterMs: number): Fault {
    const fault = new Fault(this.kind, this.reason, { retryAfterMs });
    fault.host = this.host;
    return fault;
  }

  get isTransient(): boolean {
    return this.kind !== 'refused' && this.kind !== 'foreign';
  }
}

/** JSON-RPC errors that the question itself causes: no node and no second attempt changes them. */
const REFUSALS: ReadonlySet<number> = new Set([
  -32600, -32601, -32602, -32002, -32003, -32006, -32013, -32015,
]);
/** What some providers answer instead of status 429. */
const RATE_LIMITS: ReadonlySet<number> = new Set([429, -32429, -32029]);

/** A JSON-RPC error of the node. */
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

/** Of several nodes' faults, the one that says most. */
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

/** The nodes that all may ask. */
export const PUBLIC = /^api\.(?:mainnet-beta|devnet|testnet)\.solana\.com$/;
/**
 * The host of a node's address. Providers put what tells one customer from another into the first
 * labels of a name: of those only the last two are shown. Undefined if it is no address.
 */
export function shownHost(url: string): string | undefined {
  let address: URL;
  try {
    address = new URL(url);
  } catch {
    return undefined;
  }
  const { host, hostname } = address;
  const labels = hostname.split('.');
  const isWhole = labels.length < 3 || PUBLIC.test(hostname) || /^[\d.]+$|^\[/.test(hostname);
  return isWhole ? host : `*.${labels.slice(-2).join('.')}`;
}
