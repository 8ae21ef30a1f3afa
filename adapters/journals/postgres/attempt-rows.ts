import { isFoundByRequest } from '../../../src/journal/attempt-names.js';
import type { Taken } from '../../../src/journal/account-balance.js';
import { costIn, countedAt, keepsSwap } from '../../../src/journal/attempt-costs.js';
import type { Attempt } from '../../../src/journal/types.js';
import { plainHost, portless } from '../../../src/policy/hosts.js';
import { readingFrom } from '../balance-json.js';
import type { Row } from './database.js';
import { digest } from './keys.js';

/** Returns the values of an attempt, in the order of `ATTEMPT_COLUMNS`. */
export function columnsOf(attempt: Attempt): unknown[] {
  const { state, host, payTo, mint, fingerprint, idempotencyKey } = attempt;
  const cost = [...costIn(attempt)];
  return [
    state,
    keepsSwap(attempt),
    countedAt(attempt),
    plainHost(host),
    portless(host),
    payTo,
    mint,
    cost.map(([unit]) => unit),
    cost.map(([, value]) => value.toString()),
    idempotencyKey === undefined ? null : digest(idempotencyKey),
    isFoundByRequest(attempt) ? digest(fingerprint) : null,
    asciiJson(attempt),
  ];
}

/**
 * Returns JSON that a database of any encoding can store: a write after a payment must not fail
 * because of a seller's text.
 */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function recordOf(row: Row): Attempt {
  return attemptOf(row['record'] ?? 'null');
}

export function attemptOf(record: string): Attempt {
  // `columnsOf` wrote this JSON from an attempt.
  return JSON.parse(record) as Attempt;
}

/** Parses the hold that the stored function `reserve` took. */
export function heldFrom(held: string): Taken {
  const { before } = JSON.parse(held) as { before: { amount: string; slot: number } | null };
  return { before: before === null ? undefined : readingFrom(before) };
}
