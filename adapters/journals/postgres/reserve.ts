import { capRows } from './caps.js';
import type { Tables } from './tables.js';

/** The columns of an attempt that change with it, in the order of the parameters. */
export const ATTEMPT_COLUMNS =
  'state, keep, at, host, bare_host, pay_to, mint, units, costs, key, request, record';

/**
 * The types of the parameters: the owner, the caps, what the attempt resigns, its id, its columns;
 * the key of the lock, and how long to wait for it.
 */
const PARAMETERS = `text, text,
  int[], text[], numeric[], numeric[], float8[], float8[], float8[], text[], text[], text[],
  text, text, text, boolean, float8, text, text, text, text, text[], numeric[], text, text, text,
  bigint, text`;

const COUNT = PARAMETERS.split(',').length;

/**
 * Reserves in the database itself: no call waits for the way between it and a holder of the lock,
 * nor for a holder that is gone. In a function each statement sees what was committed before it
 * began, as long as transactions are read committed; so what comes after the lock sees what its
 * last holder wrote.
 */
export function reserveFunction(tables: Tables): string {
  const { schema, attempts } = tables;
  return `
    create function "${schema}".reserve(${PARAMETERS}) returns table (taken text, n text, used text) language plpgsql as $reserve$
    #variable_conflict use_column
    begin
      if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'The journal needs transactions that are read committed by default.';
      end if;
      perform set_config('lock_timeout', $28, true);
      perform pg_advisory_xact_lock($27);
      return query
        with used as (${capRows(tables)}),
        full_cap as (select n, used from used where used + cost > most order by n limit 1),
        taken as (
          select record from ${attempts}
          where wallet = $1 and network = $2 and key = $24 and state not in ('unsettled', 'abandoned', 'unpaid')
            and ($13 is null or id <> $13) order by seq limit 1
        ),
        made as (
          insert into ${attempts} (wallet, network, id, ${ATTEMPT_COLUMNS})
          select $1, $2, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26
          where not exists (select from full_cap) and not exists (select from taken)
        )
        select (select record from taken), (select n from full_cap)::text, (select used from full_cap)::text;
    end
    $reserve$;`;
}

/**
 * Calls it for several attempts, one after the other; one row each, in order. What one reserves
 * counts for the next.
 */
export function reserveCall({ schema }: Tables, times: number): string {
  const call = (first: number) => {
    const parameters = Array.from({ length: COUNT }, (_, index) => `$${first + index + 1}`);
    return `select taken, n, used from "${schema}".reserve(${parameters.join(', ')})`;
  };
  return Array.from({ length: times }, (_, time) => call(time * COUNT)).join(' union all ');
}
