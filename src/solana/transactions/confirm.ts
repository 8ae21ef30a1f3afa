import { follow } from '../../internal/abort.js';
import { type Runtime } from '../../internal/runtime.js';
import { stopwatch } from '../../internal/stopwatch.js';
import type { LandedTransaction, Rpc, SignatureStatus } from '../rpc/rpc.js';
import { firstSignature } from './transaction.js';

/**
 * The fate of a transaction. `expired`: it did not land and never will. `unknown`: the caller
 * aborted, or the node stopped answering, before the chain decided.
 */
export type Landing =
  /**
   * `landed`: the transaction itself, if the node gave it along with its status. `signature`: its
   * id, if the search did not start from the id.
   */
  | {
      readonly outcome: 'confirmed';
      readonly slot: number;
      readonly landed?: LandedTransaction;
      readonly signature?: string;
    }
  | {
      readonly outcome: 'failed';
      readonly error: string;
      readonly slot: number;
      readonly signature?: string;
    }
  | { readonly outcome: 'expired' }
  | { readonly outcome: 'unknown' };

export interface LandInput {
  readonly rpc: Rpc;
  readonly runtime: Runtime;
  /** The signed transaction. Every send has the same bytes, so repeats are safe. */
  readonly bytes: Uint8Array;
  readonly lastValidBlockHeight: bigint;
  readonly resendMs: number;
  /**
   * Finds the fate by other means, or `unknown` while it is not certain. Called once the last valid
   * height is final, or a node says that the transaction failed.
   */
  readonly lookBack: (signal: AbortSignal) => Promise<Landing>;
  readonly signal?: AbortSignal | undefined;
}

const POLL_MS = 500;
/**
 * After a WebSocket notice the status should show soon. The number of quick polls is limited,
 * because the notice may be false.
 */
const QUICK_POLL_MS = 100;
const QUICK_POLLS = 20;
/** If the node gives no answer for this long, the wait ends. */
const SILENCE_MS = 60_000;
/**
 * Longest wait. A blockhash lives for a minute or two, and finality comes seconds later, so a
 * chain that takes longer has stopped.
 */
const LIMIT_MS = 300_000;

/**
 * Sends a transaction and repeats it until the chain decides: confirmed, failed or expired. Only
 * `lookBack` can say that it expired.
 */
export async function landTransaction(input: LandInput): Promise<Landing> {
  const { rpc, signal, bytes } = input;
  const signature = firstSignature(bytes);
  // Ends every open call when the outcome is known.
  const { controller: over, end } = follow(signal);
  const bell = createBell(input.runtime);
  const unsubscribe = over.signal.aborted
    ? undefined
    : rpc.onSignature(signature, (error) => bell.ring(error === null));
  try {
    return await watch(input, signature, bell, over.signal);
  } finally {
    end();
    unsubscribe?.();
    over.abort();
  }
}

async function watch(
  input: LandInput,
  signature: string,
  bell: Bell,
  signal: AbortSignal,
): Promise<Landing> {
  const { rpc, runtime, bytes, lastValidBlockHeight, resendMs, lookBack } = input;
  const elapsed = stopwatch(runtime);
  let answeredAt = 0;
  let sentAt = -Infinity;
  let finalHeight = 0n;
  const isOver = () => signal.aborted;
  const isPast = () => finalHeight > lastValidBlockHeight;

  const answered = async <T>(ask: () => Promise<T>): Promise<T | undefined> => {
    try {
      const answer = await ask();
      answeredAt = elapsed();
      return answer;
    } catch {
      return undefined;
    }
  };
  const status = async (): Promise<SignatureStatus | undefined> => {
    const [found = null] = (await answered(() => rpc.statuses([signature], { signal }))) ?? [];
    return found ?? undefined;
  };
  // After a notice of success, fetch the transaction at the same time as its status.
  const readBeside = async (): Promise<LandedTransaction | undefined> => {
    const landed = await rpc.transaction(signature, { signal }).catch(() => null);
    return landed === null || landed === 'newer' ? undefined : landed;
  };
  // Neither call is awaited, because a node that hangs on one call must not delay the status. A
  // send that throws may still have reached the network; only the chain counts.
  const send = () => void rpc.send(bytes, { signal }).catch(() => undefined);
  const checkHeight = () =>
    void rpc.tip('finalized', { signal }).then(
      (tip) => {
        if (tip.height > finalHeight) finalHeight = tip.height;
      },
      () => undefined,
    );

  while (!isOver() && elapsed() - answeredAt < SILENCE_MS && elapsed() < LIMIT_MS) {
    if (!isPast() && elapsed() - sentAt >= resendMs) {
      if (sentAt !== -Infinity) checkHeight();
      sentAt = elapsed();
      send();
    }
    await bell.wait(Math.min(POLL_MS, resendMs), signal);
    if (isOver()) break;
    const beside = bell.saysSuccess() ? readBeside() : undefined;
    const answer = isPast() ? undefined : decided(await status());
    if (answer?.outcome === 'confirmed') return withTransaction(answer, signature, await beside);
    // A failure frees the reservation, so the answer of a single node is not enough.
    const landing =
      isPast() || answer?.outcome === 'failed' ? await answered(() => lookBack(signal)) : answer;
    if (landing !== undefined && landing.outcome !== 'unknown') return landing;
  }
  return { outcome: 'unknown' };
}

/** Returns the fate by the answer of one node; undefined below `confirmed`. */
function decided(status: SignatureStatus | undefined): Landing | undefined {
  if (status === undefined || status.commitment === 'processed') return undefined;
  const { slot, error } = status;
  return error === null ? { outcome: 'confirmed', slot } : { outcome: 'failed', error, slot };
}

/** Adds the transaction to the fate, unless the node answered with another transaction. */
function withTransaction(
  landing: Landing & { readonly outcome: 'confirmed' },
  signature: string,
  landed: LandedTransaction | undefined,
): Landing {
  return landed?.signatures[0] === signature ? { ...landing, landed } : landing;
}

interface Bell {
  ring(isSuccess: boolean): void;
  saysSuccess(): boolean;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Creates sleeps that a WebSocket notice ends early. */
function createBell(runtime: Runtime): Bell {
  let wake: () => void = () => undefined;
  let quickPolls = 0;
  let success = false;
  return {
    ring(isSuccess) {
      quickPolls = QUICK_POLLS;
      success = isSuccess;
      wake();
    },
    saysSuccess: () => success,
    async wait(ms, signal) {
      const { controller: nap, end } = follow(signal);
      wake = () => nap.abort();
      const length = quickPolls > 0 ? Math.min(ms, QUICK_POLL_MS) : ms;
      quickPolls = Math.max(0, quickPolls - 1);
      success = false;
      await runtime.sleep(length, nap.signal).catch(() => undefined);
      end();
    },
  };
}
