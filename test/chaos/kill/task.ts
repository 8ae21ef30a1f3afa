import type { ErrorCode, Funds, Moved, Receipt } from 'exact-change';

/** A moment to be killed at: the count-th time that an edge is passed in a step. */
export interface Moment {
  readonly step: 'resume' | 'call';
  readonly edge: string;
  readonly count: number;
}

/** What is to be bought, and how. */
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

/** What a child is to do. */
export interface ChildTask extends Task {
  readonly steps: readonly Moment['step'][];
  /** Absent: its parent kills it. */
  readonly kill?: Moment;
}

/** What came of a call. */
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

/** What a child tells: `killed` is the last. */
export type Message = { readonly kind: 'passed' | 'killed' } & Moment;
