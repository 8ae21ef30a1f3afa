import { isClosed } from '../../../src/journal/attempt-names.js';
import type { StoreContent } from '../../../src/journal/attempt-store.js';
import type { Attempt } from '../../../src/journal/types.js';

/**
 * Without what could be presented or sent again, if no call will: a repeat under the same key
 * presents what is delivered too.
 */
export function lean({ attempts, ...rest }: StoreContent): StoreContent {
  const isOver = (one: Attempt) =>
    one.state === 'unsettled' || (isClosed(one) && one.idempotencyKey === undefined);
  return {
    ...rest,
    attempts: attempts.map((attempt) => (isOver(attempt) ? withoutBytes(attempt) : attempt)),
  };
}

function withoutBytes({ swap, payment, ...rest }: Attempt): Attempt {
  return {
    ...rest,
    ...(swap === undefined ? {} : { swap: { ...swap, transaction: '' } }),
    ...(payment === undefined
      ? {}
      : { payment: { ...payment, header: { ...payment.header, value: '' } } }),
  };
}
