import { SettlementError, type ErrorInit, type Moved } from '../../errors.js';
import type { OpenPayment } from '../../journal/open-payment.js';

/** A 402, and what the seller says of it. */
export interface Answer {
  readonly response: Response;
  readonly reason: string | undefined;
}

export function boundsOf({ attempt }: OpenPayment): {
  readonly payerSignature: string;
  readonly lastValidBlockHeight: string;
} {
  const { payerSignature, lastValidBlockHeight } = attempt.payment;
  return { payerSignature, lastValidBlockHeight };
}

/** What a 402 means by what the chain has said so far. */
export function rejection(
  open: OpenPayment,
  { response, reason }: Answer,
  moved: readonly Moved[],
): SettlementError<'payment_rejected'> {
  const { attempt } = open;
  const { lastValidBlockHeight } = attempt.payment;
  const base = {
    details: { ...boundsOf(open), status: response.status },
    response,
    ...(reason === undefined ? {} : { untrusted: { reason } }),
  };
  const make = (
    message: string,
    more: Pick<ErrorInit<'payment_rejected'>, 'funds' | 'moved' | 'retry'>,
  ) => new SettlementError('payment_rejected', message, { ...base, ...more });
  const { signature } = attempt.receipt.payment;
  if (attempt.state === 'settled' && signature !== undefined) {
    const paid: Moved = {
      kind: 'payment',
      signature,
      inputMint: attempt.mint,
      inAmount: attempt.amount,
    };
    return make(
      'The seller answered the paid request with 402, and the chain shows the payment. Ask the seller for its answer with the signature in moved.',
      {
        funds: 'spent',
        moved: [...moved, paid],
        retry: 'never',
      },
    );
  }
  if (attempt.state === 'unsettled') {
    return make(
      'The seller answered the paid request with 402, and the payment can no longer land: nothing was paid. See untrusted.reason, then try again.',
      {
        funds: 'untouched',
        moved,
        retry: 'fresh',
      },
    );
  }
  return make(
    `The seller answered the paid request with 402 again. That is no proof that nothing was paid: the payment may still settle until block height ${lastValidBlockHeight} is final. ` +
      'See untrusted.reason, and repeat the call once the chain has decided.',
    { funds: 'uncertain', moved },
  );
}
