import type {
  AttemptState,
  CapUse,
  ErrorCode,
  FreedReceipt,
  Funds,
  Moved,
  Receipt,
} from 'exact-change';

/** A moment to be killed at: the count-th time that an edge is passed in a step. */
export interface Moment {
  readonly step: 'resume' | 'call';
  readonly edge: string;
  readonly count: number;
}

/** What a child is to do. */
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
  readonly steps: readonly Moment['step'][];
  /** Absent: it runs to its end. */
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
    }
  | { readonly kind: 'bug'; readonly text: string };

/** What a child tells. */
export type Message =
  | ({ readonly kind: 'passed' | 'killed' } & Moment)
  /** `states`: of all attempts, once resume() is done. */
  | {
      readonly kind: 'resumed';
      readonly receipts: readonly (Receipt | FreedReceipt)[];
      readonly states: readonly AttemptState[];
    }
  | { readonly kind: 'called'; readonly outcome: Outcome }
  /** Once nothing is reserved any more. */
  | { readonly kind: 'ended'; readonly spent: readonly CapUse[] };
