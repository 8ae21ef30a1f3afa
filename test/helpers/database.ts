import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type {} from './postgres-of-run.js';

/** Returns the URL of a new database of the run's Postgres server. No test stops that server. */
export const createDatabase = (): Promise<string> => text(connect(inject('databases')));
