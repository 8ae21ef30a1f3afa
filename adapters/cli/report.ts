import type { Funds } from 'exact-change';
import type { Exit } from './exits.js';
import type { GlobalFlags } from './settings.js';
import type { Terminal } from './terminal.js';

/** The result of a command. With `--json` it is printed as one object. */
export interface Report {
  /** Default `done`. */
  readonly exit?: Exit;
  /** Default `untouched`. */
  readonly funds?: Funds;
  /** Fields of the object; absent if the command printed it while it ran. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** Text for standard output; absent if it was already printed, or there is none. */
  readonly text?: string;
  /** A link that the person's wallet app opens, or reads as a QR code. */
  readonly link?: string;
  /** Lines for standard error. */
  readonly notes?: readonly string[];
}

/** The input of a command. */
export interface Invocation<Flags> {
  readonly terminal: Terminal;
  readonly flags: Flags & GlobalFlags;
  readonly args: readonly string[];
}

export type Command<Flags> = (invocation: Invocation<Flags>) => Promise<Report>;
