import { PolicyError } from '../errors.js';
import { takenOf, type Cap, type Spend } from './caps.js';
import { periodOf } from './periods.js';
import { inUnit, amountInUnit } from './cost.js';

/**
 * Returns the refusal of a spend if a cap over time has no room for it; `used` and `taken` in the
 * cap's unit.
 */
export function overBudget(cap: Cap, used: bigint, taken: bigint): PolicyError<'budget_exhausted'> {
  const { name, unit, limit, windowMs } = cap;
  const period = windowMs === undefined ? 'so far' : `in the last ${periodOf(windowMs)}`;
  // Waiting helps only if spent amounts can leave the window, and if this spend fits into an empty
  // window.
  const waits = windowMs !== undefined && taken <= limit;
  const next = waits ? 'Wait, or raise it.' : 'Raise it to allow the payment.';
  return new PolicyError(
    'budget_exhausted',
    `${amountInUnit(unit, taken)} do not fit policy.${name} of ${amountInUnit(unit, limit)}: ${amountInUnit(unit, used)} are spent or reserved ${period}. ${next}`,
    {
      details: {
        cap: name,
        limit: inUnit(unit, limit),
        used: inUnit(unit, used),
        amount: inUnit(unit, taken),
        unit,
      },
      ...(waits ? {} : { retry: 'never' }),
    },
  );
}

export function blockedBy(
  { cap, used }: { readonly cap: Cap; readonly used: bigint },
  spend: Spend,
): PolicyError<'budget_exhausted'> {
  return overBudget(cap, used, takenOf(cap, spend));
}
