import { PolicyError, type Plan } from 'exact-change';
import { Interrupted } from './interrupt.js';
import { planText } from './plan-text.js';
import type { Progress } from './progress.js';
import { askYes, type Terminal } from './terminal.js';
import type { Wallet } from './wallet.js';

interface Asking {
  readonly terminal: Terminal;
  readonly wallet: Wallet;
  readonly network: string;
  readonly progress: Progress;
  /** The person has said yes ahead (`--yes`). */
  readonly isApproved: boolean;
  /** Ends the call with a reason of its own, which `approve` has none of. */
  readonly abort: (reason: unknown) => void;
}

/**
 * Asks the person for each payment, unless it was approved ahead; without a terminal that is a no.
 * The wallet is unlocked then: a blockhash does not wait for a passphrase.
 */
export function approveOnTerminal(asking: Asking): (plan: Plan) => Promise<boolean> {
  const { terminal, wallet, network, progress, isApproved, abort } = asking;
  const ask = async (plan: Plan): Promise<boolean> => {
    if (isApproved) return true;
    terminal.say(planText(plan, network));
    if (!terminal.canAsk) throw noTerminal();
    const answer = await askYes(terminal, 'Pay?');
    if (answer === undefined) throw new Interrupted();
    return answer;
  };
  return async (plan) => {
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
    'There is no terminal to ask on, so nothing was signed. Give --yes to pay within the caps.',
    { details: { reason: 'refused' } },
  );
}
