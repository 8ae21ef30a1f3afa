import { countedAt } from '../../../src/journal/attempt-costs.js';
import { FROM_SERVICE, isFromService, requestName } from '../../../src/journal/attempt-names.js';
import {
  createSpentKeys,
  isSpentKey,
  type SpentKey,
  type SpentKeys,
} from '../../../src/journal/spent-keys.js';
import type { Made } from '../../../src/journal/store-types.js';
import type { Attempt } from '../../../src/journal/types.js';

/**
 * Creates spent keys of callers and names of services' payments, which it counts apart: a service
 * makes many names, and they must not push out a key.
 */
export function createSpentNames(): SpentKeys {
  const [names, keys] = [createSpentKeys(), createSpentKeys()];
  const service = requestName(FROM_SERVICE);
  const partOf = (key: string): SpentKeys => (key.startsWith(service) ? names : keys);
  return {
    add: (owner, key, purchase, at) => partOf(key).add(owner, key, purchase, at),
    find: (owner, key) => partOf(key).find(owner, key),
    // Keys are last, because a release that counts both together drops what comes first.
    content: () => [...names.content(), ...keys.content()],
  };
}

/**
 * Returns the keys and names by which attempts must still be found once they are in the history.
 *
 * @param places - The place of each attempt in the history.
 */
export function spentNamesOf(closed: readonly Made[], places: readonly number[]): SpentKey[] {
  return closed.flatMap(({ attempt }, index) => {
    const { wallet, network } = attempt;
    const about = { one: places[index] ?? 0, at: countedAt(attempt) };
    return namesOf(attempt).map((key) => ({ owner: { wallet, network }, key, ...about }));
  });
}

function namesOf(attempt: Attempt): string[] {
  const { fingerprint, payment } = attempt;
  // The caller of a service may repeat a payment's step, which needs no idempotency key.
  const isRepeatable = isFromService(attempt) && payment !== undefined;
  return [
    ...(isSpentKey(attempt) ? [attempt.idempotencyKey] : []),
    ...(isRepeatable ? [requestName(fingerprint)] : []),
  ];
}
