import { isExactChangeError, type ExactChangeError } from '../errors.js';
import { errorOfCode } from '../errors/of-code.js';
import { isSigned, type AutoPayRequest, type PaymentResult } from '../transport.js';
import { MAY_HAVE_PAID } from './records.js';

/**
 * Returns the result of a step. If the step brought signed bytes, no failed read and no end of the
 * service proves that these bytes are without effect: an equal step may have recorded or sent them
 * before. Of a signed payment, no refusal proves it either: the payment may have left before, and be
 * forgotten. Then the error says that funds are uncertain, and that the caller repeats this step or
 * looks at the wallet.
 */
export async function resultOf(
  request: AutoPayRequest,
  step: Promise<PaymentResult>,
): Promise<PaymentResult> {
  try {
    return await step;
  } catch (error) {
    throw isSigned(request) && isUndecided(request, error) ? undecided(error) : error;
  }
}

function isUndecided({ signedPayment }: AutoPayRequest, error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) &&
    error.funds === 'untouched' &&
    (signedPayment !== undefined || mayPass(error))
  );
}

/** Whether an error may be over if the step is repeated, whatever it brings. */
function mayPass({ name, code }: ExactChangeError): boolean {
  return name === 'TransportError' || code === 'client_closed';
}

function undecided(error: ExactChangeError): ExactChangeError {
  const { code, message, details, retry, cause, untrusted } = error;
  // Another service takes the place of one that closes; the other codes of `never` need a person.
  const isFinal = retry === 'never' && code !== 'client_closed';
  const advice = mayPass(error)
    ? 'What was signed may still land: repeat the same step.'
    : MAY_HAVE_PAID;
  return errorOfCode(code, `${message} ${advice}`, {
    details,
    ...{ funds: 'uncertain', retry: isFinal ? retry : 'same', cause },
    ...(untrusted === undefined ? {} : { untrusted }),
  });
}
