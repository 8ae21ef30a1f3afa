import { PolicyError } from '../errors.js';
import { formatUsd, plainHost, type Policy } from './policy.js';

/** A limit on what was spent in a window. `host` limits it to that host's spends. */
export interface Cap {
  readonly name: string;
  /** Millionths of a dollar. */
  readonly limit: bigint;
  readonly windowMs: number;
  readonly host?: string;
}

/** How much of a cap is used. Dollars as decimal text. */
export interface CapUse {
  readonly cap: string;
  readonly host?: string;
  readonly limit: string;
  readonly used: string;
  readonly unit: 'USD';
  /** Length of the rolling window. */
  readonly windowMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The rolling caps of a policy, widest first. */
export function rollingCaps(policy: Policy): readonly Cap[] {
  const hosts = [...policy.maxPerHost].map(([host, limit]) => ({ name: 'maxPerHost', limit, windowMs: DAY_MS, host }));
  return [{ name: 'maxPerDay', limit: policy.maxPerDay, windowMs: DAY_MS }, ...hosts];
}

/** Whether a spend at a host counts against a cap. A cap that names no port holds on all, so that no seller leaves it by moving. */
export function counts(cap: Cap, host: string): boolean {
  const place = plainHost(host);
  return cap.host === undefined || cap.host === place || cap.host === place.replace(/:[0-9]+$/, '');
}

/** How much of a cap is used, for people. */
export function capUse(cap: Cap, used: bigint): CapUse {
  const { name, limit, windowMs, host } = cap;
  return { cap: name, ...(host === undefined ? {} : { host }), limit: formatUsd(limit), used: formatUsd(used), unit: 'USD', windowMs };
}

/** The caps on a single payment. Returns the refusal, or undefined where it may go on. */
export function checkPayment(policy: Policy, mint: string, amount: bigint, microUsd: bigint | undefined): PolicyError | undefined {
  const units = policy.maxAmount.get(mint);
  if (units !== undefined && amount > units) {
    return new PolicyError(
      'amount_over_limit',
      `The price of ${amount} base units is above policy.maxAmount of ${units} for this mint. Raise it to allow the payment.`,
      {
        details: { cap: 'maxAmount', limit: units.toString(), amount: amount.toString(), unit: mint },
      },
    );
  }
  if (microUsd === undefined) {
    if (units !== undefined) return undefined;
    return new PolicyError(
      'price_unknown',
      `No price is known for mint ${mint}, so no dollar cap can hold. Set policy.maxAmount for it, in base units, to allow payments.`,
      {
        details: { mint },
      },
    );
  }
  if (microUsd <= policy.maxPerPayment) return undefined;
  const [price, limit] = [formatUsd(microUsd), formatUsd(policy.maxPerPayment)];
  return new PolicyError(
    'amount_over_limit',
    `The price of ${price} USD is above policy.maxPerPayment of ${limit} USD. Raise it to allow the payment.`,
    {
      details: { cap: 'maxPerPayment', limit, amount: price, unit: 'USD' },
    },
  );
}

/** The refusal of a spend that a rolling cap has no room for. */
export function overBudget(cap: Cap, used: bigint, microUsd: bigint): PolicyError {
  const { limit, used: spent } = capUse(cap, used);
  const amount = formatUsd(microUsd);
  const where = cap.host === undefined ? '' : ` for ${cap.host}`;
  return new PolicyError(
    'budget_exhausted',
    `${amount} USD does not fit policy.${cap.name} of ${limit} USD${where}: ${spent} USD of the last 24 hours are spent or reserved. Wait, or raise it.`,
    { details: { cap: cap.name, limit, used: spent, amount, unit: 'USD' } },
  );
}
