import { refuse } from '../../../src/internal/options.js';

/** The name of each table, quoted, in one schema. */
export type Tables = Readonly<ReturnType<typeof tablesNamed>>;

/** Names that are safe between quotes. Postgres cuts names of more than 63 letters. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** Throws `ConfigError` (`invalid_option`). */
export function tablesIn(schema: unknown): Tables {
  if (typeof schema !== 'string' || !SCHEMA.test(schema) || schema.startsWith('pg_')) {
    throw refuse(
      'schema',
      'must be at most 63 lower-case letters, digits and underscores, not starting with a digit or pg_.',
    );
  }
  return tablesNamed(schema);
}

/** Returns the table names of a schema, without a check of its name. */
export function tablesNamed(schema: string) {
  const table = (name: string) => `"${schema}"."${name}"`;
  return {
    schema,
    attempts: table('attempts'),
    spent: table('spent'),
    books: table('books'),
    claims: table('claims'),
    counters: table('counters'),
    endpoints: table('endpoints'),
    version: table('version'),
  };
}
