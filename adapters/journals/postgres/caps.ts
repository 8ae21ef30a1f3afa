import { UNDECIDED_MS } from '../../../src/journal/attempt-costs.js';
import type { Cap } from '../../../src/policy/caps.js';
import type { Tables } from './tables.js';

const HOUR_MS = 60 * 60 * 1000;

/** A cap to check, and the cost of an attempt. */
interface CapCheck {
  readonly cap: Cap;
  /** The amount that an attempt would take of the cap, in the cap's unit. */
  readonly cost: bigint;
}

/** Returns ten arrays for the parameters $3 to $12 of a statement with {@link capRows}. */
export function capValues(checks: readonly CapCheck[], now: number): unknown[] {
  const since = checks.map(({ cap }) =>
    cap.windowMs === undefined ? -Infinity : now - cap.windowMs,
  );
  const hours = since.map((time) => Math.floor(time / HOUR_MS));
  return [
    checks.map((_, index) => index),
    checks.map(({ cap }) => cap.unit),
    checks.map(({ cap }) => cap.limit.toString()),
    checks.map(({ cost }) => cost.toString()),
    since,
    hours,
    // End of the hour in which the window begins; -Infinity for a cap without a window.
    hours.map((hour) => (hour + 1) * HOUR_MS),
    checks.map(({ cap }) => cap.host ?? null),
    checks.map(({ cap }) => cap.payTo ?? null),
    checks.map(({ cap }) => cap.mint ?? null),
  ];
}

/**
 * Returns SQL for the caps of the parameters as rows. The column `used` adds up three parts: the
 * whole hours in the window, the attempts of its first hour, and older undecided attempts.
 */
export function capRows({ attempts, spent }: Tables): string {
  // The same rule as `counts` of the policy, for rows of sums and for rows of attempts.
  const counted = (row: string) => `${row}.wallet = $1 and ${row}.network = $2
      and (c.host is null or ${row}.host = c.host or ${row}.bare_host = c.host)
      and (c.pay_to is null or ${row}.pay_to = c.pay_to)
      and (c.mint is null or c.mint = c.unit or ${row}.mint = c.mint)`;
  const single = (which: string) => `coalesce((
      select sum(u.cost) from ${attempts} a, unnest(a.units, a.costs) as u (unit, cost)
      where u.unit = c.unit and ${which} and ${counted('a')}
    ), 0)`;
  return `
    select c.n, c.most, c.cost, coalesce((
      select sum(s.cost) from ${spent} s where s.unit = c.unit and s.hour > c.hour and ${counted('s')}
    ), 0) + ${single('a.at > c.since and a.at < c.edge')}
      + ${single(`a.state in ('reserved', 'abandoned', 'signed') and a.at <= c.since and (a.state = 'reserved' or a.at > c.since - ${UNDECIDED_MS})`)} as used
    from unnest($3::int[], $4::text[], $5::numeric[], $6::numeric[], $7::float8[], $8::float8[], $9::float8[], $10::text[], $11::text[], $12::text[])
      as c (n, unit, most, cost, since, hour, edge, host, pay_to, mint)`;
}
