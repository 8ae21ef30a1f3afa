import { isExactChangeError, type ExactChangeError } from '../errors.js';
import { errorOfCode } from '../errors/of-code.js';
import { isSigned, type AutoPayRequest, type PaymentResult } from '../transport.js';

/**
 * Returns the result of a step. If the step brought signed bytes, no failed read and no end of the
 * service proves that these bytes are without effect: an equal step may have recorded or sent them
 * before. Then the error says that funds are uncertain, and that the caller repeats this step.
 */
export async function resultOf(
  request: AutoPayRequest,
  step: Promise<PaymentResult>,
): Promise<PaymentResult> {
  try {
    return await step;
  } catch (error) {
    throw isSigned(request) && isUndecided(error) ? undecided(error) : error;
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
  // Another service takes the place of one that closes; the other codes of `never` need a person.
  const isFinal = retry === 'never' && code !== 'client_closed';
  return errorOfCode(code, `${message} What was signed may still land: repeat the same step.`, {
    details,
    ...{ funds: 'uncertain', retry: isFinal ? retry : 'same', cause },
    ...(untrusted === undefined ? {} : { untrusted }),
  });
}
