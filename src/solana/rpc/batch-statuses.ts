import { throwIfAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import { shareWork, type Join } from '../../internal/shared-work.js';
import type { Rpc, SignatureStatus } from './rpc.js';

/** The most signatures of one `getSignatureStatuses`. */
const MAX_SIGNATURES = 256;
/** Milliseconds between two requests, unless a request is full. */
const APART_MS = 1_000;

/** Returns the status of a signature from the node's whole history; null if it knows none. */
export type StatusOf = (signature: string, signal: AbortSignal) => Promise<SignatureStatus | null>;

interface Batch {
  readonly signatures: string[];
  readonly join: Join<readonly (SignatureStatus | null)[]>;
}

/**
 * Joins calls for statuses in one request. The first call is sent at once. Calls within a second of
 * a request go together in the next request. If a request fails, all of its calls fail; an abort
 * ends only the call that it is for.
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
