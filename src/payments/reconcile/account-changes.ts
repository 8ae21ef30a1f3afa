import { follow } from '../../internal/abort.js';
import type { Runtime } from '../../internal/runtime.js';
import type { Rpc } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';

// Short, because the facilitator waits for confirmation before it answers.
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
// What is open for more than ten minutes may stay open: wait this part of the time so far.
const LATER_PART = 60;
// Look if the last look is this long ago, because a subscription may end without notice.
const SAFETY_MS = 20_000;

// Two, because a node may notify of a change a moment before its history shows the change.
const LOOKS_PER_CHANGE = 2;
// After this many changes the subscription ends, because the account changes too often to tell
// much. Dust and the wallet's other payments change it too. With a thousand payments in flight,
// each would look at every change of the account (measured: 97 s instead of 26 s).
const MAX_CHANGES = 3;

/** Decides when to look at the chain for an account's transactions. */
export interface Listening {
  /**
   * Waits until the next look is due; ends early if the signal aborts. Does not keep the process
   * alive. Returns false if the node reported no change since the last look: then only the expiry
   * of the blockhash can have decided the payment.
   *
   * @param hasFailed - Whether a node or the journal did not answer the last look. Then the next
   *   look is due after this wait in any case, and this wait makes no later wait longer.
   */
  next(signal: AbortSignal, hasFailed: boolean): Promise<boolean>;
  end(): void;
}

/**
 * Waits in growing steps, and wakes at each change that the node reports. Subscribes at the first
 * wait, because a payment that the first look decides needs no socket.
 *
 * @param onChange - Called at each change that the node reports, before the wait ends.
 */
export function listenTo(
  { onAccount }: Pick<Rpc, 'onAccount'>,
  runtime: Pick<Runtime, 'idle'>,
  account: Address,
  onChange: () => void,
): Listening {
  let watch: ReturnType<Rpc['onAccount']> | undefined;
  let wake = (): void => undefined;
  let changes = 0;
  let looksLeft = 0;
  let wait = FIRST_WAIT_MS;
  let waited = 0;
  // A subscription misses earlier changes, so each new subscription needs a look after its start.
  let lastSubscription: number | undefined;
  let sinceLook = 0;
  const onAccountChange = (): void => {
    changes += 1;
    looksLeft = LOOKS_PER_CHANGE;
    wait = FIRST_WAIT_MS;
    onChange();
    if (changes > MAX_CHANGES) watch?.end();
    else wake();
  };
  return {
    async next(signal, hasFailed) {
      watch ??= onAccount(account, onAccountChange);
      const subscription = watch.subscription();
      const hasLooked = subscription !== undefined && subscription === lastSubscription;
      lastSubscription = subscription;
      const { controller: nap, end } = follow(signal);
      wake = () => nap.abort();
      const length = wait;
      if (!hasFailed) waited += length;
      wait = Math.min(wait * 2, Math.max(LONGEST_WAIT_MS, waited / LATER_PART));
      await runtime.idle(length, nap.signal).catch(() => undefined);
      end();
      wake = () => undefined;
      sinceLook += length;
      if (
        !hasFailed &&
        hasLooked &&
        looksLeft === 0 &&
        watch.subscription() === subscription &&
        sinceLook < SAFETY_MS
      )
        return false;
      looksLeft = Math.max(0, looksLeft - 1);
      sinceLook = 0;
      return true;
    },
    end() {
      watch?.end();
    },
  };
}
