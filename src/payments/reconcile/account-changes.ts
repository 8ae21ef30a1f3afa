import { onAbort } from '../../internal/abort.js';
import type { Runtime } from '../../internal/runtime.js';
import type { Rpc } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';

// The facilitator has waited for confirmation before the answer, so the first look mostly suffices.
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
// A subscription may have ended without a word of it.
const SAFETY_MS = 20_000;

// A node may tell of a change a moment before its history shows it.
const LOOKS_A_CALL = 2;
// Any wallet can send dust to an account, and the wallet's other payments change it too: if a
// thousand are in flight, each would look at each of the others' (measured: 97 s for what takes 26
// s). An account that often changes says too little to be listened to.
const MOST_CALLS = 3;

/** When to look at the chain for what concerns an account. */
export interface Listening {
  /**
   * Waits until it is worth looking again, without keeping the process alive; early if the
   * signal aborts. False if the account has not changed since the last look, as the node tells:
   * then only time can have decided.
   */
  next(signal: AbortSignal): Promise<boolean>;
  end(): void;
}

/**
 * In growing steps; if the node tells of changes, also at each of those, and between them
 * seldom. Begins to listen with the first wait: what is decided at the first look needs no socket.
 *
 * @param onChange - Called at each change that the node tells of, before the wait ends.
 */
export function listenTo(
  { onAccount }: Pick<Rpc, 'onAccount'>,
  runtime: Pick<Runtime, 'idle'>,
  account: Address,
  onChange: () => void,
): Listening {
  let watch: ReturnType<Rpc['onAccount']> | undefined;
  let wake = (): void => undefined;
  let calls = 0;
  let looks = 0;
  let wait = FIRST_WAIT_MS;
  // What happened before a subscription may have been missed, so one look lies after its begin.
  let lookedIn: number | undefined;
  let sinceLook = 0;
  const ring = (): void => {
    calls += 1;
    looks = LOOKS_A_CALL;
    wait = FIRST_WAIT_MS;
    onChange();
    if (calls > MOST_CALLS) watch?.end();
    else wake();
  };
  return {
    async next(signal) {
      watch ??= onAccount(account, ring);
      const before = watch.subscription();
      const wasLookedAt = before !== undefined && before === lookedIn;
      lookedIn = before;
      const nap = new AbortController();
      const stop = () => nap.abort();
      wake = stop;
      const forget = onAbort(signal, stop);
      if (signal.aborted) stop();
      const length = wait;
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      await runtime.idle(length, nap.signal).catch(() => undefined);
      forget();
      wake = () => undefined;
      sinceLook += length;
      if (wasLookedAt && looks === 0 && watch.subscription() === before && sinceLook < SAFETY_MS)
        return false;
      looks = Math.max(0, looks - 1);
      sinceLook = 0;
      return true;
    },
    end() {
      watch?.end();
    },
  };
}
