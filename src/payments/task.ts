import type { Moved } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt } from '../journal/types.js';
import type { Presentation } from './execute/present.js';

/** One payment that is being made. */
export interface Task {
  readonly id: string;
  /** What it is for. */
  readonly place: Pick<Attempt, 'url' | 'method' | 'fingerprint' | 'idempotencyKey' | 'resigns'>;
  readonly signal: AbortSignal | undefined;
  readonly emit: Emit;
  /** Grows by what lands on the way, also if the payment fails. */
  readonly moved: Moved[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Called once it is known what the purchase needs of the wallet. */
  readonly onCounted: () => void;
}

/** A call while it is being paid for. */
export interface Buying {
  readonly task: Task;
  readonly presentation: Presentation;
}
