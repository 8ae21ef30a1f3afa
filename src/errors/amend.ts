import { ExactChangeError, type ErrorCode, type ErrorInit, type Funds } from '../errors.js';

/**
 * Returns a copy of an error with facts that its thrower did not know: our transactions that had
 * landed before it (`funds` then says so), the response that led to it, or what may still land.
 */
export function amendError(
  error: ExactChangeError,
  {
    moved = [],
    response,
    funds = error.funds,
    retry = error.retry,
  }: Pick<ErrorInit<ErrorCode>, 'moved' | 'response' | 'funds' | 'retry'>,
): ExactChangeError {
  const allMoved = [
    ...moved.filter((added) => !error.moved.some((known) => known.signature === added.signature)),
    ...error.moved,
  ];
  const landed: Funds = allMoved.some((transaction) => transaction.kind === 'payment')
    ? 'spent'
    : allMoved.length > 0
      ? 'swapped'
      : funds;
  // A transaction that may still land outweighs transactions that landed.
  const keepsFunds = funds === 'uncertain' || funds === 'spent';
  const seen = error.response ?? response;
  const { code, details, cause, untrusted } = error;
  // Copy, because several calls may share a failure, and only some of them moved anything.
  const copy = new ExactChangeError(code, error.message, {
    details,
    funds: keepsFunds ? funds : landed,
    moved: allMoved,
    retry,
    ...(cause === undefined ? {} : { cause }),
    ...(untrusted === undefined ? {} : { untrusted }),
    ...(seen === undefined ? {} : { response: seen }),
  });
  if (error.stack !== undefined) copy.stack = error.stack;
  copy.name = error.name;
  Object.setPrototypeOf(copy, Reflect.getPrototypeOf(error));
  return copy;
}
