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
 * Whether parsed JSON is an attempt, in all that a journal itself looks at. An amount below zero
 * would be credit.
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
 * An attempt as its JSON has it: what is undefined is absent, and the caller's object is not kept.
 * Throws `TypeError` if it is none.
 */
export function copyOf(attempt: Attempt): Attempt {
  const copy = jsonOf(attempt);
  if (isAttempt(copy)) return copy;
  throw new TypeError(
    'This is no attempt that a journal can keep: a field is missing, or an amount is not in whole base units.',
  );
}

/** What parsing its JSON would give: text, numbers, flags, and lists and fields of such. */
function jsonOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(jsonOf);
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value))
    if (field !== undefined) copy[name] = jsonOf(field);
  return copy;
}

/**
 * What is told of a swap. What it moved is what the chain showed, also if that looks like
 * nonsense: no payment may fail over it.
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
