import { onAbort } from '../../internal/abort.js';
import { type Runtime } from '../../internal/runtime.js';
import { stopwatch } from '../../internal/stopwatch.js';
import type { LandedTransaction, Rpc, SignatureStatus } from '../rpc/rpc.js';
import { firstSignature } from './transaction.js';

/**
 * What became of a transaction. `expired`: it did not land and never will. `unknown`: we stopped
 * looking, or the node stopped answering, before the chain had decided.
 */
export type Landing =
  /**
   * `landed`: the transaction itself, if the node gave it along with its status. `signature`: its id,
   * if it was found by something else.
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
  /** Signed wire bytes; the same ones are sent each time, which is safe. */
  readonly bytes: Uint8Array;
  readonly lastValidBlockHeight: bigint;
  readonly resendMs: number;
  /**
   * Asked once the last valid height is final, or a node says that it failed: what became of it,
   * `unknown` while that is not certain.
   */
  readonly lookBack: (signal: AbortSignal) => Promise<Landing>;
  readonly signal?: AbortSignal | undefined;
}

const POLL_MS = 500;
/**
 * Once the WebSocket has told, the status is about to show; not for ever, should it have told a
 * lie.
 */
const QUICK_POLL_MS = 100;
const QUICK_POLLS = 20;
/** Without any status from the node for so long, it is gone. */
const SILENCE_MS = 60_000;
/**
 * A blockhash lives for a minute or two, and finality comes some seconds later; a chain that takes
 * longer has stopped.
 */
const LIMIT_MS = 300_000;

/**
 * Sends a transaction and repeats it until the chain has decided: confirmed, failed, or expired,
 * which is for `lookBack` to say.
 */
export async function landTransaction(input: LandInput): Promise<Landing> {
  const { rpc, signal, bytes } = input;
  const signature = firstSignature(bytes);
  // Ends everything that is still under way when the outcome is known.
  const over = new AbortController();
  const follow = () => over.abort(signal?.reason);
  const forget = signal === undefined ? undefined : onAbort(signal, follow);
  if (signal?.aborted === true) follow();
  const bell = createBell(input.runtime);
  const unsubscribe = over.signal.aborted
    ? undefined
    : rpc.onSignature(signature, (error) => bell.ring(error === null));
  try {
    return await watch(input, signature, bell, over.signal);
  } finally {
    forget?.();
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
  // Once the WebSocket has told that it went well, what it did is asked for beside its status.
  const readBeside = async (): Promise<LandedTransaction | undefined> => {
    const landed = await rpc.transaction(signature, { signal }).catch(() => null);
    return landed === null || landed === 'newer' ? undefined : landed;
  };
  // Neither is awaited: a node that hangs on one call must not keep us from hearing what it did. A
  // first sending that throws may have been taken all the same; only the chain counts.
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
    const told = isPast() ? undefined : decided(await status());
    if (told?.outcome === 'confirmed') return withTransaction(told, signature, await beside);
    // A failure frees what was reserved for it: it takes more than one answer.
    const landing =
      isPast() || told?.outcome === 'failed' ? await answered(() => lookBack(signal)) : told;
    if (landing !== undefined && landing.outcome !== 'unknown') return landing;
  }
  return { outcome: 'unknown' };
}

/** As one node tells it. */
function decided(status: SignatureStatus | undefined): Landing | undefined {
  if (status === undefined || status.commitment === 'processed') return undefined;
  const { slot, error } = status;
  return error === null ? { outcome: 'confirmed', slot } : { outcome: 'failed', error, slot };
}

/** An answer to another question is none. */
function withTransaction(
  told: Landing & { readonly outcome: 'confirmed' },
  signature: string,
  landed: LandedTransaction | undefined,
): Landing {
  return landed?.signatures[0] === signature ? { ...told, landed } : told;
}

interface Bell {
  ring(isSuccess: boolean): void;
  /** Whether it rang for a success before the last wait ended. */
  saysSuccess(): boolean;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Sleeps that the WebSocket cuts short. */
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
      const nap = new AbortController();
      wake = () => nap.abort();
      const stop = wake;
      const forget = onAbort(signal, stop);
      if (signal.aborted) stop();
      const length = quickPolls > 0 ? Math.min(ms, QUICK_POLL_MS) : ms;
      quickPolls = Math.max(0, quickPolls - 1);
      success = false;
      await runtime.sleep(length, nap.signal).catch(() => undefined);
      forget();
    },
  };
}
