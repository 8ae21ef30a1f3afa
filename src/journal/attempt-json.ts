import { isRecord } from '../internal/record.js';
import { isSwapCost } from '../policy/cost.js';
import { attemptStates } from './states.js';
import type { Attempt } from './types.js';

const TEXTS = [
  'id',
  'wallet',
  'network',
  'url',
  'method',
  'host',
  'fingerprint',
  'payTo',
  'mint',
] as const;
const AMOUNTS = ['inAmount', 'outAmount', 'feeLamports'] as const;
const AMOUNT = /^[0-9]+$/;

/**
 * Whether parsed JSON is an attempt. Checks each field that a journal itself reads. No amount may
 * be negative, because it would be credit.
 */
export function isAttempt(value: unknown): value is Attempt {
  if (!isRecord(value)) return false;
  const {
    state,
    delivered,
    at,
    leftAt,
    amount,
    microUsd,
    idempotencyKey,
    resigns,
    doubt,
    swap,
    swapped,
    swapping,
  } = value;
  return (
    TEXTS.every((name) => typeof value[name] === 'string') &&
    typeof state === 'string' &&
    Object.prototype.hasOwnProperty.call(attemptStates, state) &&
    typeof delivered === 'boolean' &&
    Number.isFinite(at) &&
    (leftAt === undefined || Number.isFinite(leftAt)) &&
    isAmount(amount) &&
    (microUsd === undefined || isAmount(microUsd)) &&
    [idempotencyKey, resigns, doubt].every(
      (text) => text === undefined || typeof text === 'string',
    ) &&
    (swap === undefined || isSwap(swap)) &&
    [swapped, swapping].every((cost) => cost === undefined || isSwapCost(cost))
  );
}

/**
 * Copies an attempt as its JSON has it: without undefined fields, and without objects of the
 * caller. Throws `TypeError` if the value is no attempt.
 */
export function copyOf(attempt: Attempt): Attempt {
  const copy = jsonOf(attempt);
  if (isAttempt(copy)) return copy;
  throw new TypeError(
    'This is no attempt that a journal can keep: a field is missing, or an amount is not in whole base units.',
  );
}

/** Returns what parsing the value's JSON would give: text, numbers, flags, lists and fields. */
function jsonOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(jsonOf);
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<unknown>({ ...value }))
    if (field !== undefined) copy[name] = jsonOf(field);
  return copy;
}

/**
 * Whether a value is a signed swap. Amounts may be any text: the chain showed them, and no payment
 * may fail because they look odd.
 */
function isSwap(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { signature, quoted, outcome } = value;
  return (
    typeof signature === 'string' &&
    hasTexts(quoted, AMOUNTS) &&
    (outcome === undefined || isOutcome(outcome))
  );
}

function isOutcome(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return value['state'] === 'failed'
    ? hasTexts(value, ['code'])
    : value['state'] === 'confirmed' && hasTexts(value, AMOUNTS);
}

function hasTexts(value: unknown, names: readonly string[]): boolean {
  return isRecord(value) && names.every((name) => typeof value[name] === 'string');
}

function isAmount(value: unknown): boolean {
  return typeof value === 'string' && AMOUNT.test(value);
}
