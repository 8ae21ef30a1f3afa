import type { Moved } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt } from '../journal/types.js';
import type { Presentation } from './execute/present.js';

export interface Task {
  readonly id: string;
  readonly place: Pick<Attempt, 'url' | 'method' | 'fingerprint' | 'idempotencyKey' | 'resigns'>;
  readonly signal: AbortSignal | undefined;
  readonly emit: Emit;
  /** Transactions that have landed so far. The list grows also if the payment fails. */
  readonly moved: Moved[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Called when the wallet counts the tokens that the purchase needs, or when it needs none. */
  readonly onCounted: () => void;
}

export type Buying = Task & Presentation;
