import { ExactChangeError, type Funds, type Moved } from '../errors.js';

/**
 * Returns a copy of an error with facts that its thrower did not know: our transactions that had
 * landed before it (`funds` then says so), and the response that led to it.
 */
export function amendError(
  error: ExactChangeError,
  { moved = [], response }: { readonly moved?: readonly Moved[]; readonly response?: Response },
): ExactChangeError {
  const allMoved = [
    ...moved.filter((added) => !error.moved.some((known) => known.signature === added.signature)),
    ...error.moved,
  ];
  const landed: Funds = allMoved.some((transaction) => transaction.kind === 'payment')
    ? 'spent'
    : allMoved.length > 0
      ? 'swapped'
      : error.funds;
  // A transaction that may still land outweighs transactions that landed.
  const keepsFunds = error.funds === 'uncertain' || error.funds === 'spent';
  const seen = error.response ?? response;
  const { code, details, retry, cause, untrusted } = error;
  // Copy, because several calls may share a failure, and only some of them moved anything.
  const copy = new ExactChangeError(code, error.message, {
    details,
    funds: keepsFunds ? error.funds : landed,
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
