import { ExactChangeError, type Funds, type Moved } from '../errors.js';

/**
 * The same error with what became known further out: transactions of ours that had landed before it
 * (`funds` then says so), and the response that led to it. Everything else stays.
 */
export function amendError(
  error: ExactChangeError,
  { moved = [], response }: { readonly moved?: readonly Moved[]; readonly response?: Response },
): ExactChangeError {
  const all = [
    ...moved.filter((one) => !error.moved.some((known) => known.signature === one.signature)),
    ...error.moved,
  ];
  const landed: Funds = all.some((one) => one.kind === 'payment')
    ? 'spent'
    : all.length > 0
      ? 'swapped'
      : error.funds;
  // What landed is known; what may still land outweighs it.
  const open = error.funds === 'uncertain' || error.funds === 'spent';
  const seen = error.response ?? response;
  const { code, details, retry, cause, untrusted } = error;
  // A copy, because one failure may be shared by calls of which only some have moved anything.
  const copy = new ExactChangeError(code, error.message, {
    details,
    funds: open ? error.funds : landed,
    moved: all,
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
