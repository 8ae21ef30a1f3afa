import { SettlementError, type Moved } from '../errors.js';
import type { Emit } from '../events.js';
import { startDeadline } from '../deadline.js';
import { attachReceipt, type Receipt } from '../receipt.js';
import type { Call } from '../request.js';
import { peekBody } from '../x402/read.js';
import { readSettlement, rejectionReason } from '../x402/settlement.js';
import type { Core } from './core.js';
import { follow, type Open } from './follow.js';

/**
 * Sends the paid request once, and returns any answer but a 402 as it is, with its receipt. A lost answer or a 402 throws
 * `SettlementError`; either way the chain has the last word, in the background.
 */
export async function present(
  core: Core,
  call: Call,
  url: string,
  open: Open,
  moved: readonly Moved[],
  emit: Emit,
  startedAt: number,
): Promise<Response> {
  const { runtime, timeouts } = core.config;
  const deadline = startDeadline(timeouts.payment, call.signal);
  core.wallet.active.add(open.attempt.id);
  try {
    emit('payment.sent', { url, method: call.method });
    const response = await send(call, url, open, deadline.signal, moved, emit);
    const settlement = readSettlement(response.headers);
    const receipt: Receipt = {
      ...open.attempt.receipt,
      ...(settlement === undefined ? {} : { settlement }),
      timings: { ...open.attempt.receipt.timings, answered: runtime.now() - startedAt },
    };
    // A 402 may claim a transaction too, one that is still pending: where to look first.
    open.attempt = { ...open.attempt, delivered: isDelivery(response.status, settlement?.success === true), receipt };
    // The answer is worth more than its record: the next write of this attempt, by whoever follows it, catches up.
    await core.journal
      .put(open.attempt)
      .catch(() => emit('warning', { message: `The journal could not be written after payment ${receipt.payment.payerSignature}.` }));
    if (response.status === 402) throw await rejected(core, response, open, moved, emit);
    attachReceipt(response, () => open.attempt.receipt);
    emit('payment.answered', { status: response.status, receipt });
    deadline.stop(response);
    return response;
  } catch (error) {
    if (call.signal?.aborted === true) throw call.signal.reason;
    throw error;
  } finally {
    deadline.stop();
    core.wallet.active.delete(open.attempt.id);
    void follow(core, open, emit);
  }
}

/**
 * Whether an answer is what was bought. A failed or redirecting server may have kept the payment: who repeats such a call, or a wrapper
 * that does, must not pay for it anew before the chain has decided. Wrappers repeat a 5xx on their own, so not even after it was settled.
 */
function isDelivery(status: number, settled: boolean): boolean {
  return (status >= 200 && status < 300) || (settled && status !== 402 && status < 500);
}

async function send(
  call: Call,
  url: string,
  { attempt }: Open,
  signal: AbortSignal,
  moved: readonly Moved[],
  emit: Emit,
): Promise<Response> {
  try {
    return await call.sendPaid(url, attempt.payment.header, signal);
  } catch (cause) {
    const { payerSignature, lastValidBlockHeight } = attempt.payment;
    emit('payment.uncertain', { payerSignature, lastValidBlockHeight, code: 'payment_uncertain' });
    throw new SettlementError(
      'payment_uncertain',
      `The answer to the paid request was lost, so the payment may still settle until block height ${lastValidBlockHeight} is final. ` +
        'Repeat the same call: it presents the same payment or reports it spent, and never pays twice.',
      { details: { payerSignature, lastValidBlockHeight }, funds: 'uncertain', moved, cause },
    );
  }
}

async function rejected(core: Core, response: Response, open: Open, moved: readonly Moved[], emit: Emit): Promise<SettlementError> {
  const { payerSignature, lastValidBlockHeight, source } = open.attempt.payment;
  // v2 servers say it in a header, v1 servers only in the body.
  const fromHeaders = rejectionReason({ headers: response.headers });
  const body = fromHeaders === undefined ? await peekBody(response, { timeoutMs: core.config.timeouts.terms }) : undefined;
  const reason = fromHeaders ?? rejectionReason({ headers: response.headers, body: body?.text });
  // A wrong idea of our own balance is the likeliest of our own mistakes.
  core.wallet.ledger.forget(source);
  emit('payment.uncertain', { payerSignature, lastValidBlockHeight, code: 'payment_rejected' });
  return new SettlementError(
    'payment_rejected',
    `The seller answered the paid request with 402 again. That is no proof that nothing was paid: the payment may still settle until block height ${lastValidBlockHeight} is final. ` +
      'See untrusted.reason, and repeat the call once the chain has decided.',
    {
      details: { payerSignature, lastValidBlockHeight, status: response.status },
      funds: 'uncertain',
      moved,
      response,
      ...(reason === undefined ? {} : { untrusted: { reason } }),
    },
  );
}
