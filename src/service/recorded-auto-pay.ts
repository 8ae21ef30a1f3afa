import { refuse } from '../internal/options.js';
import { stopwatch } from '../internal/stopwatch.js';
import type { Journal } from '../journal/types.js';
import type { PaymentRequired } from '../protocols/types.js';
import { isAddress } from '../solana/address.js';
import type { AutoPayRequest, PaymentResult } from '../transport.js';
import { bytesOf, type AutoPayDeps } from './auto-pay.js';
import { termsOf } from './parse-payment.js';
import { payStep } from './pay-step.js';
import { planStep } from './plan-step.js';
import type { Purchase } from './records.js';
import { placeOf, swapAmountOf } from './request.js';
import { swapStep } from './swap-step.js';
import { createWalletSessions, type WalletSessions } from './wallet-sessions.js';

// Interval at which a process resumes attempts that nothing else ends.
const ROUND_MS = 60_000;

export interface RecordedAutoPay extends Pick<WalletSessions, 'resume' | 'close'> {
  step(request: AutoPayRequest, signal: AbortSignal | undefined): Promise<PaymentResult>;
}

/**
 * Runs the steps of payments that a caller signs. It records a swap before it sends it, and a
 * payment before it returns its header. It follows open attempts in the background.
 *
 * After a restart the first call resumes the open attempts. A running process resumes attempts too:
 * of another process over the journal that died, and of its own if the journal wrote them too late.
 */
export function createRecordedAutoPay(deps: AutoPayDeps, journal: Journal): RecordedAutoPay {
  const sessions = createWalletSessions(deps, journal);
  const { runtime } = deps.settings;
  const closing = new AbortController();
  let resumed: Promise<void> | undefined;
  let rounds: Promise<void> | undefined;
  const resumeRegularly = async (): Promise<never> => {
    for (;;) {
      await runtime.idle(ROUND_MS, closing.signal);
      // If a round fails, the next round tries again.
      await sessions.resume().catch(() => undefined);
    }
  };
  const resume = () => {
    if (!closing.signal.aborted) rounds ??= resumeRegularly().catch(() => undefined);
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
      const waited = stopwatch(runtime);
      if (!isAddress(wallet)) throw refuse('wallet', 'must be a base58 address.');
      const terms = termsOf(request.paymentRequired);
      const purchase = purchaseOf(request, terms);
      // Do not wait, because the call resumes the attempts of its own wallet.
      resume().catch(() => undefined);
      return sessions.run(wallet, async (session) => {
        const step = { deps, session, request, terms, purchase, signal, waited };
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
  const place = placeOf(terms);
  if (terms.url === undefined && !isForSwapAlone(request))
    throw refuse(
      'paymentRequired.url',
      'must be given: a payment is put on record with the place that asks for it.',
    );
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey))
    throw refuse('idempotencyKey', 'must be 1 to 255 visible ASCII characters.');
  // Attempts without a URL are never recorded, so an empty URL finds none.
  return { ...place, idempotencyKey };
}

/**
 * Whether the caller only wants a swap of a given amount. It pays without the service, so nothing
 * is recorded or looked up for its payment.
 */
function isForSwapAlone(request: AutoPayRequest): boolean {
  return (
    swapAmountOf(request) !== undefined &&
    request.signedPayment === undefined &&
    request.idempotencyKey === undefined
  );
}
