import { untilAborted } from '../internal/abort.js';
import { refuse } from '../internal/options.js';
import type { Journal } from '../journal/types.js';
import type { PaymentRequired } from '../protocols/types.js';
import { isAddress } from '../solana/address.js';
import type { AutoPayRequest, PaymentResult } from '../transport.js';
import { bytesOf, hostOf, type AutoPayDeps } from './auto-pay.js';
import { termsOf } from './parse-payment.js';
import { payStep } from './pay-step.js';
import { planStep } from './plan-step.js';
import type { Purchase } from './records.js';
import { swapAmountOf } from './request.js';
import { swapStep } from './swap-step.js';
import { createWalletSessions, type WalletSessions } from './wallet-sessions.js';

// How soon what a process leaves that dies is taken up by another over the same journal.
const ROUND_MS = 60_000;

/** Auto-pay on record. */
export interface RecordedAutoPay extends Pick<WalletSessions, 'resume' | 'close'> {
  step(request: AutoPayRequest, signal: AbortSignal | undefined): Promise<PaymentResult>;
}

/**
 * The steps of payments that a caller signs, each on record before anything of it leaves: a swap
 * before it is sent, a payment before its header is given. What is open is followed in the
 * background, and taken up again by the first call after a restart; if several processes share
 * the journal, also by one that lives, of one that died.
 */
export function createRecordedAutoPay(deps: AutoPayDeps, journal: Journal): RecordedAutoPay {
  const sessions = createWalletSessions(deps, journal);
  const { idle } = deps.settings.runtime;
  const closing = new AbortController();
  let resumed: Promise<void> | undefined;
  let rounds: Promise<void> | undefined;
  /** Until the signal ends it. */
  const goRounds = async (): Promise<never> => {
    for (;;) {
      await idle(ROUND_MS, closing.signal);
      // What one round could not take up, the next one can.
      await sessions.resume().catch(() => undefined);
    }
  };
  const resume = () => {
    // Only others can leave more than what was there at the start.
    if (journal.coordination !== undefined && !closing.signal.aborted)
      rounds ??= goRounds().catch(() => undefined);
    return (resumed ??= sessions.resume().catch((error: unknown) => {
      resumed = undefined;
      throw error;
    }));
  };
  return {
    resume,
    async close() {
      closing.abort();
      await sessions.close();
      await rounds;
    },
    async step(request, signal) {
      const { wallet, signedSwap, signedPayment } = request;
      if (!isAddress(wallet)) throw refuse('wallet', 'must be a base58 address.');
      const terms = termsOf(request.paymentRequired);
      const purchase = purchaseOf(request, terms);
      await untilAborted(resume(), signal);
      return sessions.run(wallet, async (session) => {
        const step = { deps, session, request, terms, purchase, signal };
        if (signedPayment !== undefined)
          return payStep(step, bytesOf('signedPayment', signedPayment));
        if (signedSwap !== undefined) return swapStep(step, bytesOf('signedSwap', signedSwap));
        return planStep(step);
      });
    },
  };
}

function purchaseOf(request: AutoPayRequest, terms: PaymentRequired): Purchase {
  const { idempotencyKey } = request;
  const host = hostOf(terms);
  if (terms.url === undefined && !isForSwapAlone(request))
    throw refuse(
      'paymentRequired.url',
      'must be given: a payment is put on record with the place that asks for it.',
    );
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey))
    throw refuse('idempotencyKey', 'must be 1 to 255 visible ASCII characters.');
  // No attempt was made at an empty address, so none is found there.
  return { url: (terms.url ?? '').replace(/#.*/s, ''), host, idempotencyKey };
}

/**
 * A caller that names a swap and hands over nothing pays without us, and has nothing put on record
 * or looked up.
 */
function isForSwapAlone(request: AutoPayRequest): boolean {
  return (
    swapAmountOf(request) !== undefined &&
    request.signedPayment === undefined &&
    request.idempotencyKey === undefined
  );
}
