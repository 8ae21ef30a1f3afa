import { throwIfAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import { shareWork, type Join } from '../../internal/shared-work.js';
import type { Rpc, SignatureStatus } from './rpc.js';

/** Of one `getSignatureStatuses`. */
const MAX_SIGNATURES = 256;
/** Between two requests, unless one is full. */
const APART_MS = 1_000;

/** The status of one signature, as far back as the node remembers; null if it knows none. */
export type StatusOf = (signature: string, signal: AbortSignal) => Promise<SignatureStatus | null>;

interface Batch {
  readonly signatures: string[];
  readonly join: Join<readonly (SignatureStatus | null)[]>;
}

/**
 * Asks for the statuses of many signatures at once: the first at its turn, those that come within a
 * second of a request together in the next. What goes wrong goes wrong for all that were asked for
 * together; a caller that gives up leaves the others theirs.
 */
export function batchStatuses(
  rpc: Pick<Rpc, 'statuses'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
): StatusOf {
  let open: Batch | undefined;
  let askedAt = -Infinity;

  const startBatch = (): Batch => {
    const signatures: string[] = [];
    const close = () => {
      if (open === batch) open = undefined;
    };
    const join = shareWork(async (signal) => {
      await runtime.sleep(Math.max(0, APART_MS - sinceThen(runtime, askedAt)), signal);
      close();
      askedAt = runtime.now();
      return rpc.statuses(signatures, { history: true, signal });
    }, close);
    const batch = { signatures, join };
    return batch;
  };

  return async (signature, signal) => {
    throwIfAborted(signal);
    open = open !== undefined && open.signatures.length < MAX_SIGNATURES ? open : startBatch();
    const { signatures, join } = open;
    const position = signatures.push(signature) - 1;
    return (await join(signal))[position] ?? null;
  };
}
