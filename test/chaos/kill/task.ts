import type { ErrorCode, Funds, Moved, Receipt } from 'exact-change';

/** A moment to kill: the count-th time that a step passes an edge. */
export interface Moment {
  readonly step: 'resume' | 'call';
  readonly edge: string;
  readonly count: number;
}

/** A purchase and its environment. */
export interface Task {
  readonly address: string;
  readonly secretKey: string;
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly jupiterUrl: string;
  /** Path of the journal's file. */
  readonly journal: string;
  readonly request: {
    readonly url: string;
    readonly method: string;
    readonly body?: string;
    readonly idempotencyKey?: string;
  };
}

/** The task of a child. */
export interface ChildTask extends Task {
  readonly steps: readonly Moment['step'][];
  /** Absent if the parent kills the child. */
  readonly kill?: Moment;
}

/** The outcome of a call. */
export type Outcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      readonly receipt: Receipt;
    }
  | {
      readonly kind: 'error';
      readonly code: ErrorCode;
      readonly funds: Funds;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>>;
      readonly moved: readonly Moved[];
    };

/** A message of a child; `killed` is its last. */
export type Message = { readonly kind: 'passed' | 'killed' } & Moment;
