import { attemptStates, openStates } from '../../../src/journal/states.js';
import { capRows } from './caps.js';
import type { Tables } from './tables.js';

/** The columns that a put of an attempt writes, in the order of the parameters. */
export const ATTEMPT_COLUMNS =
  'state, keep, at, host, bare_host, pay_to, mint, units, costs, key, request, record';

const COLUMNS =
  'text, boolean, float8, text, text, text, text, text[], numeric[], text, text, text';

/**
 * Parameter types of `reserve`: owner, caps, id of the attempt that this attempt resigns, own id,
 * columns, lock key, lock timeout, `along`.
 */
const RESERVE = `text, text,
  int[], text[], numeric[], numeric[], float8[], float8[], float8[], text[], text[], text[],
  text, text, ${COLUMNS}, bigint, text, text`;

/** Parameter types of `put`: owner, id, states that it may follow, columns, `along`, `telling`. */
const PUT = `text, text, text, text[], ${COLUMNS}, text, boolean`;

const countOf = (parameters: string) => parameters.split(',').length;
const placesOf = (parameters: string, first = 0) =>
  Array.from({ length: countOf(parameters) }, (_, index) => `$${first + index + 1}`).join(', ');

/**
 * Settings of the functions, whatever the session has. Other schemas may have functions and
 * operators of the names that Postgres uses, and a slot as text needs all of its digits.
 */
export const OWN_SETTINGS = 'set search_path = pg_catalog, pg_temp set extra_float_digits = 3';

/** In a session of the role `replica`, no trigger keeps the sums of caps. */
const REFUSES_REPLICAS = `if current_setting('session_replication_role') = 'replica' then
        raise exception 'The journal needs a session_replication_role that fires triggers.';
      end if;`;

/**
 * Returns the stored functions. Each does its step inside the database: no lock waits for a network
 * round trip or for an ended process. With read committed transactions, each statement of a
 * function sees all rows committed before it began. So a statement after a lock sees the rows that
 * the last holder wrote.
 */
export function functionsOf(tables: Tables): string {
  const { schema, attempts, books, claims, endpoints } = tables;
  const named = (name: string) => `"${schema}".${name}`;
  const decided = Object.entries(attemptStates).flatMap(([state, { decided }]) =>
    decided ? [`'${state}'`] : [],
  );
  const plain = `language plpgsql ${OWN_SETTINGS} as $body$ #variable_conflict use_column`;
  // Another process may begin to keep events at any time; from then on, each write adds its events.
  const askToTell = `${REFUSES_REPLICAS} if not telling and to_regclass('${endpoints}') is not null then return 'tell'; end if;`;
  return `
    -- As taking() of account-balance.ts: the book with what is taken; null if it is not there.
    create or replace function ${named('book_held')}(b jsonb, i text, amount numeric, since float8, until float8) returns jsonb language sql immutable as $body$
      select b || jsonb_build_object(
        'made', (b->>'made')::bigint + 1,
        'holds', (b->'holds') || jsonb_build_object('id', i, 'amount', amount::text, 'ordinal', (b->>'made')::bigint))
      where (b#>>'{known,at}')::float8 between since and until
        and not exists (select from jsonb_array_elements(b->'spent') s where s->>'id' = i)
        and (b#>>'{known,amount}')::numeric
          - coalesce((select sum((h->>'amount')::numeric) from jsonb_array_elements(b->'holds') h), 0) >= amount
    $body$;

    -- As release().
    create or replace function ${named('book_freed')}(b jsonb, i text) returns jsonb language sql immutable as $body$
      select jsonb_set(b, '{holds}', coalesce(
        (select jsonb_agg(h order by n) from jsonb_array_elements(b->'holds') with ordinality as e (h, n) where h->>'id' <> i),
        '[]'))
    $body$;

    -- As spend().
    create or replace function ${named('book_spent')}(b jsonb, i text, slot float8) returns jsonb ${plain}
    declare h jsonb; k jsonb := b->'known'; gone jsonb;
    begin
      select e into h from jsonb_array_elements(b->'holds') e where e->>'id' = i;
      if h is null then return b; end if;
      gone := (b->'spent') || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('id', i, 'amount', h->>'amount', 'slot', slot)));
      if jsonb_array_length(gone) > 32 then gone := gone - 0; end if;
      b := jsonb_set(${named('book_freed')}(b, i), '{spent}', gone);
      if k is null then return b; end if;
      if (h->>'ordinal')::bigint >= (k->>'doubtful')::bigint or slot > (k->>'slot')::float8 then
        return jsonb_set(b, '{known,amount}', to_jsonb(greatest((k->>'amount')::numeric - (h->>'amount')::numeric, 0)::text));
      end if;
      return case when slot is null or not k ? 'slot' then b - 'known' else b end;
    end $body$;

    -- What goes along with the write of an attempt. Of one that is gone, the owner is not known.
    create or replace function ${named('along')}(w text, n text, i text, a jsonb) returns void ${plain}
    begin
      if jsonb_array_length(a->'claim') > 0 then
        insert into ${claims} as c (id, instance, holder)
        select id, a->>'instance', (a->>'holder')::bigint from jsonb_array_elements_text(a->'claim') as given (id)
        on conflict (id, instance) do update set holder = excluded.holder;
      end if;
      if jsonb_array_length(a->'drop') > 0 then
        delete from ${claims} where instance = a->>'instance' and id in (select jsonb_array_elements_text(a->'drop'));
      end if;
      if a ? 'spend' then
        update ${books} set book = ${named('book_spent')}(book::jsonb, i, (a#>>'{spend,slot}')::float8)::text
        where wallet = w and network = n and account = a#>>'{spend,account}';
      end if;
      if jsonb_array_length(a->'free') > 0 then
        update ${books} set book = ${named('book_freed')}(book::jsonb, i)::text
        where (w is null or wallet = w) and (n is null or network = n) and account in (select jsonb_array_elements_text(a->'free'));
      end if;
    end $body$;

    create or replace function ${named('reserve')}(${RESERVE}) returns table (taken text, n text, used text, held text) ${plain}
    declare made text; b jsonb; a jsonb := $29::jsonb; h jsonb := a->'hold';
    begin
      if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'The journal needs transactions that are read committed by default.';
      end if;
      -- Else the name of no host, payee or mint in a list of caps is the text NULL.
      if not current_setting('array_nulls')::boolean then
        raise exception 'The journal needs array_nulls to be on.';
      end if;
      ${REFUSES_REPLICAS}
      perform set_config('lock_timeout', $28, true);
      perform pg_advisory_xact_lock($27);
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
        returning id
      )
      select (select record from taken), (select n from full_cap)::text, (select used from full_cap)::text, (select id from made)
      into taken, n, used, made;
      if made is not null then
        perform ${named('along')}($1, $2, $14, a);
        -- Not while a swap runs whose guard counts on the account.
        if h is not null and pg_try_advisory_xact_lock_shared((h->>'lock')::bigint) then
          select ${named('book_held')}(book::jsonb, $14, (h->>'amount')::numeric,
            coalesce((h->>'from')::float8, '-Infinity'), coalesce((h->>'to')::float8, 'Infinity'))
          into b from ${books} where wallet = $1 and network = $2 and account = h->>'account' for update;
          if b is not null then
            update ${books} set book = b::text where wallet = $1 and network = $2 and account = h->>'account';
            held := jsonb_build_object('before', b->'reading')::text;
          end if;
        end if;
      end if;
      return next;
    end $body$;

    -- What became of it: 'written'; the state that stands instead; null if there is none; or 'tell'.
    -- One that is decided stays as it is, and what goes along happens.
    create or replace function ${named('put')}(${PUT}) returns text ${plain}
    declare telling boolean := $18; standing text;
    begin
      ${askToTell}
      update ${attempts} set (${ATTEMPT_COLUMNS}) = ($5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      where id = $3 and wallet = $1 and network = $2 and state = any ($4);
      if found then
        standing := 'written';
      else
        select state into standing from ${attempts} where id = $3;
      end if;
      if standing in ('written', ${decided.join(', ')}) then perform ${named('along')}($1, $2, $3, $17::jsonb); end if;
      return standing;
    end $body$;

    -- The record of what was forgotten; null if there was nothing; or 'tell'.
    create or replace function ${named('release')}(i text, states text[], a text, telling boolean) returns text ${plain}
    declare gone text;
    begin
      ${askToTell}
      delete from ${attempts} where id = i and state = any (states) and not keep returning record into gone;
      perform ${named('along')}(null, null, i, a::jsonb);
      return gone;
    end $body$;
  `;
}

/**
 * A column that makes the commit wait for the disk if the database's default is `off`: a signed
 * transaction on record is sent next. Each other value waits for the disk, some for more.
 */
const WAITS =
  "case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', true) end as waits";

/**
 * Returns a statement that reserves several attempts, one after the other, and gives a row for
 * each. Each reservation counts for the next.
 */
export function reserveCall({ schema }: Tables, times: number): string {
  const call = (first: number) =>
    `select taken, n, used, held, ${WAITS} from "${schema}".reserve(${placesOf(RESERVE, first)})`;
  return Array.from({ length: times }, (_, time) => call(time * countOf(RESERVE))).join(
    ' union all ',
  );
}

/** Returns a statement that puts an attempt. Its last parameter is a lock timeout. */
export function putCall({ schema }: Tables): string {
  return `select "${schema}".put(${placesOf(PUT)}) as standing, ${WAITS}
    from set_config('lock_timeout', $${countOf(PUT) + 1}, true)`;
}

/**
 * Returns the statement that releases an attempt. If the attempt goes on, because another process
 * has signed it by now, its tokens stay held. The lock keeps its row as it is until the release.
 */
export function releaseCall({ schema, attempts }: Tables): string {
  const goesOn = `state in (${openStates.map((state) => `'${state}'`).join(', ')}) and (keep or state <> all ($2))`;
  return `with standing as materialized (select state, keep from ${attempts} where id = $1 for update)
    select "${schema}".release($1, $2, case when exists (select from standing where ${goesOn})
      then ($3::text::jsonb - 'free')::text else $3::text end, $4) as record`;
}
