import type { ClientEvent, Funds, Receipt } from 'exact-change';
import { EXITS } from './exits.js';
import type { Report } from './report.js';
import type { Terminal } from './terminal.js';

/** The person left a question, or pressed Ctrl-C before the call signed a transaction. */
export class Interrupted extends Error {
  constructor(message = 'Interrupted. Nothing was signed or paid.') {
    super(message);
    this.name = 'Interrupted';
  }
}

/** A transaction that a call has signed, or a payment of an earlier call that it has sent again. */
interface Signed {
  readonly kind: 'swap' | 'payment';
  /** The swap's signature; of a payment, the wallet's own signature, once an event has told it. */
  readonly signature?: string;
}

interface Work {
  /**
   * Undecided transactions: payments by the wallet's signature, swaps by the id of the attempt. The
   * payment of an earlier call is here by its request until an event names its signature.
   */
  readonly open: Map<string, Signed>;
  /** Payments of any call that have landed, by their request. */
  readonly settled: Map<string, Signed>;
  readonly landed: Signed[];
  /** Swaps that landed and failed: they cost their network fees. */
  readonly failed: Signed[];
}

/** Lets Ctrl-C end a call, and tracks the transactions that the call has signed. */
export interface Interruption {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  readonly listener: (event: ClientEvent) => void;
  /**
   * Returns the report of an ended call that has open or landed transactions, also if they failed;
   * undefined if no transaction has landed or can land.
   */
  openReport(): Report | undefined;
  end(): void;
}

/**
 * Listens for Ctrl-C until `end`. A second Ctrl-C ends the process at once, because the journal has
 * all signed transactions.
 */
export function createInterruption(terminal: Terminal): Interruption {
  const work: Work = { open: new Map(), settled: new Map(), landed: [], failed: [] };
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXITS[reportOf(work)?.exit ?? 'interrupted'][0]);
    terminal.say('Interrupted: ending the call. Ctrl-C again ends it at once.');
    controller.abort(new Interrupted());
    terminal.questions.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    listener: (event) => follow(work, event),
    openReport: () => reportOf(work),
    end: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal),
  };
}

function follow({ open, settled, landed, failed }: Work, event: ClientEvent): void {
  const end = (key: string, list?: Signed[]): void => {
    const signed = open.get(key);
    if (signed !== undefined) list?.push(signed);
    open.delete(key);
  };
  if ('receipt' in event) {
    const signed = paymentOf(event.receipt);
    if (open.delete(requestOf(event.receipt))) open.set(signed.signature, signed);
  }
  let earlier: Signed | undefined;
  switch (event.type) {
    case 'swap.signed':
      open.set(event.id, { kind: 'swap', signature: event.signature });
      break;
    case 'swap.confirmed':
      end(event.id, landed);
      break;
    case 'swap.failed':
      if (event.code !== 'swap_uncertain')
        end(event.id, event.code === 'swap_failed' ? failed : undefined);
      break;
    case 'payment.signed':
      open.set(event.payerSignature, { kind: 'payment', signature: event.payerSignature });
      break;
    case 'payment.sent':
      // A payment of this call is known by now; that of an earlier call was signed there.
      if ([...open.values(), ...landed].some(isPayment)) break;
      earlier = settled.get(requestOf(event));
      if (earlier === undefined) open.set(requestOf(event), { kind: 'payment' });
      else landed.push(earlier);
      break;
    case 'payment.settled':
      settled.set(requestOf(event.receipt), paymentOf(event.receipt));
      end(event.receipt.payment.payerSignature, landed);
      break;
    case 'payment.unsettled':
      end(event.receipt.payment.payerSignature);
      break;
    default:
  }
}

function reportOf({ open, landed, failed }: Work): Report | undefined {
  const signed = [...open.values()];
  if (signed.length > 0)
    return saying(
      'uncertain',
      `What is signed may still land: ${listOf(signed)}. Nothing more is signed.`,
      signed.some(isPayment)
        ? 'exact-change resume asks the chain what became of it.'
        : 'Look up its signature before you swap again: exact-change resume knows only payments.',
      signed,
    );
  if (landed.length === 0)
    return failed.length === 0
      ? undefined
      : saying(
          'untouched',
          `Nothing was paid or swapped, and only network fees are gone: ${listOf(failed)} landed and failed.`,
        );
  return landed.some(isPayment)
    ? saying('spent', `It is paid, and there is no answer: ${listOf(landed)}.`)
    : saying('swapped', `Tokens were swapped, and nothing was paid: ${listOf(landed)}.`);
}

function saying(funds: Funds, what: string, next?: string, open?: readonly Signed[]): Report {
  const message = `Interrupted. ${what}`;
  return {
    exit: funds === 'untouched' ? 'interrupted' : funds,
    funds,
    json: { error: { code: 'interrupted', message }, ...(open === undefined ? {} : { open }) },
    notes: [message, ...(next === undefined ? [] : [next])],
  };
}

const requestOf = ({ method, url }: { readonly method: string; readonly url: string }) =>
  `${method} ${url}`;

const paymentOf = ({ payment: { payerSignature: signature } }: Receipt) =>
  ({ kind: 'payment', signature }) as const;

const isPayment = ({ kind }: Signed): boolean => kind === 'payment';

function listOf(signed: readonly Signed[]): string {
  return signed
    .map(({ kind, signature = 'of an earlier call' }) => `the ${kind} ${signature}`)
    .join(' and ');
}
