import type { Funds } from 'exact-change';
import type { Exit } from './exits.js';
import type { GlobalFlags } from './settings.js';
import type { Terminal } from './terminal.js';

/** What a command has to say in the end. With `--json` it is one object. */
export interface Report {
  /** Default `done`. */
  readonly exit?: Exit;
  /** Default `untouched`. */
  readonly funds?: Funds;
  /** Absent if all was told while it ran. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** For a person, on standard output; absent if it was shown already, or there is nothing. */
  readonly text?: string;
  /** A link that a wallet app of a person opens, or reads as a QR code. */
  readonly link?: string;
  /** For a person, on standard error. */
  readonly notes?: readonly string[];
}

/** What a command gets. */
export interface Invocation<Flags> {
  readonly terminal: Terminal;
  readonly flags: Flags & GlobalFlags;
  readonly args: readonly string[];
}

export type Command<Flags> = (invocation: Invocation<Flags>) => Promise<Report>;
