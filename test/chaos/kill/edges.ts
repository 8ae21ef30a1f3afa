import type { Attempt, Journal, MessageSigner, Signer } from 'exact-change';

/**
 * Receives the edges of the client's work, by names such as `journal put signed before`. Passing an
 * edge may end the process.
 */
export interface Edges {
  pass(edge: string): void;
  /** Like `pass`; calls `last` first if the process ends here. */
  passWith(edge: string, last: () => void): void;
}

/** Names a write of an attempt in a word; an attempt is written again after each new fact. */
export function wordFor({ state, swap, receipt, toldAt }: Attempt): string {
  if (state === 'reserved') return swap === undefined ? 'reserved' : 'swap';
  if (toldAt !== undefined) return 'told';
  return state === 'signed' && receipt?.timings['answered'] !== undefined ? 'answered' : state;
}

/** Wraps a journal so that it passes an edge before and after each write. */
export function edgedJournal(journal: Journal, { pass }: Edges): Journal {
  const around = async <T>(edge: string, work: () => Promise<T>): Promise<T> => {
    pass(`journal ${edge} before`);
    const result = await work();
    pass(`journal ${edge} after`);
    return result;
  };
  return {
    ...journal,
    reserve: (...args) => around('reserve', () => journal.reserve(...args)),
    put: (...args) => around(`put ${wordFor(args[0])}`, () => journal.put(...args)),
    raise: (...args) => around('raise', () => journal.raise(...args)),
    release: (...args) => around('release', () => journal.release(...args)),
  };
}

export function edgedSigner({ address, signMessage }: MessageSigner, { pass }: Edges): Signer {
  return {
    address,
    async signMessage(message, intent) {
      pass(`signer ${intent.kind} before`);
      const signature = await signMessage(message, intent);
      pass(`signer ${intent.kind} after`);
      return signature;
    },
  };
}

/** Makes a fetch that passes an edge before each request and after the headers of its answer. */
export function edgedFetch({ pass }: Edges): typeof fetch {
  return async (input, init) => {
    const name = requestName(new Request(input, init), init?.body);
    pass(`${name} before`);
    const response = await fetch(input, init);
    pass(`${name} after`);
    return response;
  };
}

function requestName({ url, headers }: Request, body: RequestInit['body']): string {
  const { pathname } = new URL(url);
  const [, endpoint] = /^\/swap\/v1\/(.+)$/.exec(pathname) ?? [];
  if (endpoint !== undefined) return `jupiter ${endpoint}`;
  // Calls to the node go to the root path; calls to the seller go to other paths.
  if (pathname !== '/') return headers.has('payment-signature') ? 'seller paid' : 'seller unpaid';
  const { method }: { method?: unknown } = typeof body === 'string' ? JSON.parse(body) : {};
  return `rpc ${String(method)}`;
}
