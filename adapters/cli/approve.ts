import { PolicyError, type Plan } from 'exact-change';
import { Interrupted } from './interrupt.js';
import { planText } from './plan-text.js';
import type { Progress } from './progress.js';
import { askYes, type Terminal } from './terminal.js';
import type { Settings } from './settings.js';
import type { Wallet } from './wallet.js';
import { refuse } from '../../src/internal/options.js';

interface Asking {
  readonly terminal: Terminal;
  readonly wallet: Wallet;
  readonly network: string;
  readonly progress: Progress;
  readonly settings: Settings;
  /** `--yes`: the person approves ahead. */
  readonly yes: boolean | undefined;
  /** Ends the call with a reason. An error of `approve` would only be the cause of a refusal. */
  readonly abort: (reason: unknown) => void;
}

/**
 * Returns a function that asks the person about each payment, unless `--yes` approved it ahead.
 * Without a terminal it refuses. It allows a top-up (a swap for no payment) only with `--yes`. It
 * unlocks the wallet before signing, because a blockhash may expire while the person types the
 * passphrase. Throws `ConfigError` (`invalid_option`) for `--yes` without a cap on one payment.
 */
export function approveOnTerminal(asking: Asking): (plan: Plan) => Promise<boolean> {
  const { terminal, wallet, network, progress, settings, yes = false, abort } = asking;
  // A settings file may hold null, which stands for the default.
  if (yes && (settings.policy?.maxPerPayment ?? null) === null)
    throw refuse(
      '--yes',
      'goes with --max <dollars>: up to that it pays unasked. EXACT_CHANGE_MAX_PER_PAYMENT and maxPerPayment in the settings do as well.',
    );
  const ask = async (plan: Plan): Promise<boolean> => {
    if (yes) return true;
    terminal.say(planText(plan, network));
    if (!terminal.canAsk) throw noTerminal();
    const answer = await askYes(terminal, 'Pay?');
    if (answer === undefined) throw new Interrupted();
    return answer;
  };
  return async (plan) => {
    // A top-up comes after the payment that the person approved. A question about the top-up would
    // delay the answer of the seller, and a no would end the call.
    if (plan.payment === undefined) return yes;
    progress.end();
    try {
      if (!(await ask(plan))) return false;
      await wallet.unlock();
      return true;
    } catch (error) {
      abort(error);
      throw error;
    }
  };
}

function noTerminal(): PolicyError {
  return new PolicyError(
    'approval_refused',
    'There is no terminal to ask on, so nothing was signed. Give --yes and --max <dollars> to pay unasked.',
    { details: { reason: 'refused' } },
  );
}
