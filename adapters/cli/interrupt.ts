import type { ClientEvent } from 'exact-change';
import { EXITS } from './exits.js';
import type { Report } from './report.js';
import type { Terminal } from './terminal.js';

/** The person left a question, or pressed Ctrl-C before anything was signed. */
export class Interrupted extends Error {
  constructor() {
    super('Interrupted. Nothing was signed or paid.');
    this.name = 'Interrupted';
  }
}

/** What is signed, and not known to be over. */
interface OpenWork {
  readonly kind: 'swap' | 'payment';
  /** Of the swap; of a payment the wallet's own, which proves it ours. */
  readonly signature: string;
}

/** Lets Ctrl-C end a call, and knows what is open then. */
export interface Interruption {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  readonly listener: (event: ClientEvent) => void;
  /** What to say if the call was ended while something signed was open; undefined if nothing is. */
  openReport(): Report | undefined;
  end(): void;
}

/** Listens until it is ended. A second Ctrl-C ends the process at once: the journal has it all. */
export function createInterruption(terminal: Terminal): Interruption {
  const open = new Map<string, OpenWork>();
  const controller = new AbortController();
  const heard = (): void => {
    if (controller.signal.aborted)
      process.exit(EXITS[open.size > 0 ? 'uncertain' : 'interrupted'][0]);
    terminal.say('Interrupted: ending the call. Ctrl-C again ends it at once.');
    controller.abort(new Interrupted());
  };
  process.on('SIGINT', heard).on('SIGTERM', heard);
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    listener: (event) => follow(open, event),
    openReport: () => (open.size === 0 ? undefined : reportOf([...open.values()])),
    end: () => void process.off('SIGINT', heard).off('SIGTERM', heard),
  };
}

function follow(open: Map<string, OpenWork>, event: ClientEvent): void {
  switch (event.type) {
    case 'swap.signed':
      open.set(`swap ${event.id}`, { kind: 'swap', signature: event.signature });
      break;
    case 'swap.confirmed':
    case 'swap.failed':
      open.delete(`swap ${event.id}`);
      break;
    case 'payment.signed':
      open.set(`payment ${event.id}`, { kind: 'payment', signature: event.payerSignature });
      break;
    case 'payment.settled':
    case 'payment.unsettled':
      open.delete(`payment ${event.id}`);
      break;
    default:
  }
}

function reportOf(open: readonly OpenWork[]): Report {
  const list = open.map(({ kind, signature }) => `the ${kind} ${signature}`).join(' and ');
  const message = `Interrupted. What is signed may still land: ${list}. Nothing more is signed.`;
  return {
    exit: 'uncertain',
    funds: 'uncertain',
    json: { error: { code: 'interrupted', message }, open },
    notes: [message, 'exact-change resume asks the chain what became of it.'],
  };
}
