import { SettlementError, type Moved } from '../../errors.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import { factsOf, movedByPayment, stateText } from '../execute/present.js';

export function alreadySpent(open: OpenPayment, response?: Response): SettlementError {
  const { payment, receipt, delivered } = open.attempt;
  const { payerSignature } = payment;
  const { signature } = receipt.payment;
  return new SettlementError(
    'already_spent',
    delivered
      ? "This key's purchase is paid, and its answer was delivered. A new idempotencyKey buys again; so does an equal call without one."
      : 'This purchase is paid already. Ask the seller for its answer with the signature. A new idempotencyKey buys again; so does an equal call without one, after retryWindow.',
    {
      details: { payerSignature, ...(signature === undefined ? {} : { signature }) },
      funds: 'spent',
      moved: [...movedBySwap(open), ...movedByPayment(open)],
      ...(response === undefined ? {} : { response }),
    },
  );
}

export function movedBySwap({ attempt }: OpenPayment): Moved[] {
  const { swap } = attempt.receipt;
  if (swap === undefined) return [];
  const { provider: _provider, ...amounts } = swap;
  return [{ kind: 'swap', ...amounts }];
}

export function earlierUncertain(open: OpenPayment, cause?: unknown): SettlementError {
  const facts = factsOf(open, movedBySwap(open));
  return new SettlementError(
    'payment_uncertain',
    `An earlier payment for this same call ${stateText(facts)}. Repeat the call once that is decided, or pay anew by giving a new idempotencyKey.`,
    { ...facts, ...(cause === undefined ? {} : { cause }) },
  );
}
