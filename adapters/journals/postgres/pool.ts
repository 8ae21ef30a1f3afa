/** What the journal asks of a client of `pg`. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(destroy?: Error | boolean): void;
  /** Whether it keeps the process alive. */
  ref?(): void;
  unref?(): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (notice: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** What the journal asks of a pool: that of `pg` has it. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** A pool, and how to be done with it. */
export interface OpenPool {
  readonly pool: PostgresPool;
  /** Resolves when nothing of it is left, also if the database does not answer. */
  close(): Promise<void>;
}

// A client or a pool that says "error" to no listener ends the process. What it means for a query,
// the query's promise says.
export const ignored = (): void => undefined;
