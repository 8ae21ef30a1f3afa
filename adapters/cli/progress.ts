import type { ClientEvent } from 'exact-change';
import { amountText } from '../../src/token-text.js';
import type { Terminal } from './terminal.js';

const SLOW_MS = 1_000;

export interface Progress {
  /** Begins a step. Its text is printed if the step takes longer than a second. */
  step(text: string): void;
  /** Begins the steps of a payment, by its events. */
  readonly listener: (event: ClientEvent) => void;
  end(): void;
}

/** Prints slow steps on standard error, unless the command is silent. */
export function createProgress(terminal: Terminal, isSilent: boolean, network: string): Progress {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => clearTimeout(timer);
  const step = (text: string): void => {
    end();
    if (isSilent) return;
    timer = setTimeout(() => terminal.say(terminal.errorColors.dim(`... ${text}`)), SLOW_MS);
    timer.unref();
  };
  return {
    step,
    end,
    listener(event) {
      const next = nextStep(event, network);
      if (next !== undefined) step(next);
    },
  };
}

/** Returns the step that a call begins after an event. */
function nextStep(event: ClientEvent, network: string): string | undefined {
  switch (event.type) {
    case 'payment.required':
      return 'reading what the offers need from the node';
    case 'balance.checked':
      return event.missing === '0' ? 'preparing the payment' : 'asking for a swap';
    case 'swap.quoted':
      return `checking the swap of ${amountText(network, event.inputMint, BigInt(event.inAmount))}`;
    case 'swap.signed':
      return `waiting for the swap to land: ${event.signature}`;
    case 'swap.confirmed':
      return 'preparing the payment';
    case 'payment.sent':
      return 'waiting for the paid answer, in which the payment is settled';
    default:
      return undefined;
  }
}
