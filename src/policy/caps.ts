import { PolicyError } from '../errors.js';
import { formatUsd, plainHost, type Policy } from './policy.js';

/** A limit on what payments may cost, or on how many there are, in a rolling window or for ever. Where it names a host, payee or mint, it counts theirs alone. */
export interface Cap {
  /** The rule of the policy that it comes from. */
  readonly name: string;
  /** `USD`: millionths of a dollar; `payments`: how many; else the mint whose base units count. */
  readonly unit: string;
  /** In the unit. */
  readonly limit: bigint;
  /** Absent: for ever. */
  readonly windowMs?: number;
  readonly host?: string;
  readonly payTo?: string;
  readonly mint?: string;
}

/** What a cap looks at in an attempt. */
export interface Spend {
  readonly host: string;
  readonly payTo: string;
  readonly mint: string;
  /** Base units of the mint, as a decimal string. */
  readonly amount: string;
  /** Millionths of a dollar as a decimal string; absent where the mint has no price. */
  readonly microUsd?: string;
}

/** What a spend takes of a cap, in its unit; 0 where the cap does not count it. */
export function takenOf(cap: Cap, spend: Spend): bigint {
  if (!counts(cap, spend)) return 0n;
  if (cap.unit === 'USD') return BigInt(spend.microUsd ?? 0);
  if (cap.unit === 'payments') return 1n;
  return spend.mint === cap.unit ? BigInt(spend.amount) : 0n;
}

/** Whether a cap counts a spend. One that names a host without a port counts all its ports, so that no seller leaves it by moving. */
export function counts(cap: Cap, { host, payTo, mint }: Spend): boolean {
  if (cap.payTo !== undefined && cap.payTo !== payTo) return false;
  if (cap.mint !== undefined && cap.mint !== mint) return false;
  if (cap.host === undefined) return true;
  const place = plainHost(host);
  return cap.host === place || cap.host === place.replace(/:[0-9]+$/, '');
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
