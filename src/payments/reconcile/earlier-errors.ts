import { SettlementError, type Moved } from '../../errors.js';
import type { OpenPayment } from '../../journal/open-payment.js';

/** Returns the error for a purchase that an earlier attempt has paid. */
export function alreadySpent(
  { payment, receipt, mint, amount }: OpenPayment['attempt'],
  response?: Response,
): SettlementError {
  const { payerSignature } = payment;
  const { signature } = receipt.payment;
  const { swap } = receipt;
  const swapped: Moved[] = swap === undefined ? [] : [{ kind: 'swap', ...withoutProvider(swap) }];
  const paid: Moved[] =
    signature === undefined
      ? []
      : [{ kind: 'payment', signature, inputMint: mint, inAmount: amount }];
  return new SettlementError(
    'already_spent',
    'This purchase is paid already. Ask the seller for its answer with the signature, or buy again by giving a new idempotencyKey.',
    {
      details: { payerSignature, ...(signature === undefined ? {} : { signature }) },
      funds: 'spent',
      moved: [...swapped, ...paid],
      ...(response === undefined ? {} : { response }),
    },
  );
}

/** Returns the swap of an attempt's receipt as an entry of the error's `moved`. */
export function swappedBy({ attempt }: OpenPayment): Moved[] {
  const { swap } = attempt.receipt;
  return swap === undefined ? [] : [{ kind: 'swap', ...withoutProvider(swap) }];
}

function withoutProvider({
  provider: _provider,
  ...swap
}: NonNullable<OpenPayment['attempt']['receipt']['swap']>): Omit<Moved, 'kind'> {
  return swap;
}

/** Returns the error for a purchase with an earlier payment that the chain has not decided. */
export function paymentUncertain(open: OpenPayment, cause?: unknown): SettlementError {
  const { attempt } = open;
  const { payerSignature, lastValidBlockHeight } = attempt.payment;
  return new SettlementError(
    'payment_uncertain',
    `An earlier payment for this same call may still settle until block height ${lastValidBlockHeight} is final. Repeat the call after that, or pay anew by giving a new idempotencyKey.`,
    {
      details: { payerSignature, lastValidBlockHeight },
      funds: 'uncertain',
      moved: swappedBy(open),
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
