import type { Attempt, Journal, MessageSigner, Signer } from 'exact-change';

/**
 * The edges of the client's work, by names such as `journal put signed before`. Passing one may end
 * the process.
 */
export interface Edges {
  pass(edge: string): void;
  /** As `pass`; if it ends the process, it does this first. */
  passWith(edge: string, last: () => Promise<void>): Promise<void>;
}

/**
 * What a journal is given to write, in one word: an attempt is put again with each thing that is
 * learnt of it.
 */
export function wordFor({ state, swap, receipt, toldAt }: Attempt): string {
  if (state === 'reserved') return swap === undefined ? 'reserved' : 'swap';
  if (toldAt !== undefined) return 'told';
  return state === 'signed' && receipt?.timings['answered'] !== undefined ? 'answered' : state;
}

/** A journal that passes an edge before and after each of its writes. */
export function edgedJournal(journal: Journal, { pass }: Edges): Journal {
  const around = async <T>(edge: string, work: () => Promise<T>): Promise<T> => {
    pass(`journal ${edge} before`);
    const result = await work();
    pass(`journal ${edge} after`);
    return result;
  };
  return {
    ...journal,
    reserve: (attempt, caps) => around('reserve', () => journal.reserve(attempt, caps)),
    put: (attempt) => around(`put ${wordFor(attempt)}`, () => journal.put(attempt)),
    raise: (attempt, caps) => around('raise', () => journal.raise(attempt, caps)),
    release: (id) => around('release', () => journal.release(id)),
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

/**
 * A fetch that passes an edge before each request leaves and when the headers of its answer are
 * there.
 */
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
  // The node is asked at the root, the seller below it.
  if (pathname !== '/') return headers.has('payment-signature') ? 'seller paid' : 'seller unpaid';
  const { method }: { method?: unknown } = typeof body === 'string' ? JSON.parse(body) : {};
  return `rpc ${String(method)}`;
}
