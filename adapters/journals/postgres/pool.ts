/** The part of a `pg` client that the journal uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(destroy?: Error | boolean): void;
  /** `ref` lets the connection keep the process alive; `unref` does not. */
  ref?(): void;
  unref?(): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (notice: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** The part of a pool that the journal uses; the pool of `pg` has it. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** A pool, and a function that closes it. */
export interface OpenPool {
  readonly pool: PostgresPool;
  /** Resolves when all connections are closed, also if the database does not answer. */
  close(): Promise<void>;
}

// A listener that does nothing: without a listener, an "error" event of a client or pool ends the
// process. The promise of the query rejects anyway.
export const ignored = (): void => undefined;
