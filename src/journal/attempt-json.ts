import { attemptStates } from './states.js';
import type { Attempt } from './types.js';

const TEXTS = ['id', 'wallet', 'network', 'url', 'method', 'host', 'fingerprint', 'payTo', 'mint'] as const;
const AMOUNT = /^[0-9]+$/;

/** Whether parsed JSON is an attempt, in all that a journal itself looks at. An amount below zero would be credit. */
export function isAttempt(value: unknown): value is Attempt {
  if (!isRecord(value)) return false;
  const { state, delivered, at, amount, microUsd, idempotencyKey, resigns } = value;
  return (
    TEXTS.every((name) => typeof value[name] === 'string') &&
    typeof state === 'string' &&
    Object.prototype.hasOwnProperty.call(attemptStates, state) &&
    typeof delivered === 'boolean' &&
    typeof at === 'number' &&
    isAmount(amount) &&
    (microUsd === undefined || isAmount(microUsd)) &&
    [idempotencyKey, resigns].every((text) => text === undefined || typeof text === 'string')
  );
}

/** An attempt as its JSON has it: what is undefined is absent, and the caller's object is not kept. Throws `TypeError` where it is none. */
export function copyOf(attempt: Attempt): Attempt {
  const copy: unknown = JSON.parse(JSON.stringify(attempt));
  if (isAttempt(copy)) return copy;
  throw new TypeError('This is no attempt that a journal can keep: a field is missing, or an amount is not in whole base units.');
}

function isAmount(value: unknown): boolean {
  return typeof value === 'string' && AMOUNT.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
