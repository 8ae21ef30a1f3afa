import { isExactChangeError, type ExactChangeError } from '../errors.js';
import { errorOfCode } from '../errors/of-code.js';
import type { AutoPayRequest, PaymentResult } from '../transport.js';

/**
 * Returns the result of a step. If the step brought signed bytes, no failed read and no end of the
 * service proves that these bytes are without effect: an equal step may have recorded or sent them
 * before. Then the error says that funds are uncertain, and that the caller repeats this step.
 */
export async function resultOf(
  { signedSwap, signedPayment }: AutoPayRequest,
  step: Promise<PaymentResult>,
): Promise<PaymentResult> {
  try {
    return await step;
  } catch (error) {
    const isSigned = signedSwap !== undefined || signedPayment !== undefined;
    throw isSigned && isUndecided(error) ? undecided(error) : error;
  }
}

function isUndecided(error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) &&
    error.funds === 'untouched' &&
    (error.name === 'TransportError' || error.code === 'client_closed')
  );
}

function undecided(error: ExactChangeError): ExactChangeError {
  const { code, message, details, retry, cause, untrusted } = error;
  return errorOfCode(code, `${message} What was signed may still land: repeat the same step.`, {
    details,
    ...{ funds: 'uncertain', retry: retry === 'never' ? retry : 'same', cause },
    ...(untrusted === undefined ? {} : { untrusted }),
  });
}
