import type { ClientEvent, Events, Logger } from '../events.js';
import { redact } from '../internal/redact.js';
import { amountText } from '../token-text.js';

/** Writes one line to a logger for each step of each call. A logger that throws changes nothing. */
export function logSteps(events: Events, logger: Logger, network: string): void {
  events.on('*', (event) => logger.debug(lineOf(event, network)));
}

/**
 * Returns the log line of an event, without known keys. It shows no user and no query of a URL,
 * because a seller's URL may be a secret of its buyer.
 */
export function lineOf(event: ClientEvent, network: string): string {
  return `exact-change ${event.id.slice(0, 6)} ${event.type}: ${redact(textOf(event, network))}`;
}

function textOf(event: ClientEvent, network: string): string {
  const text = (mint: string, amount: string, decimals?: number) =>
    amountText(network, mint, BigInt(amount), decimals);
  switch (event.type) {
    case 'payment.required':
      return `${callText(event)} asks for payment (offers: ${event.offers})`;
    case 'payment.chosen':
      return `${text(event.mint, event.amount, event.decimals)} to ${event.payTo}`;
    case 'balance.checked':
      return `can spend ${text(event.mint, event.available)} of ${text(event.mint, event.required)}`;
    case 'swap.quoted':
      return `up to ${text(event.inputMint, event.maxInAmount)} for ${text(event.outputMint, event.minOutAmount)}`;
    case 'swap.confirmed':
      return `${text(event.inputMint, event.inAmount)} into ${text(event.outputMint, event.outAmount)}, ${event.signature}`;
    case 'swap.signed':
      return event.signature;
    case 'swap.failed':
      return `${event.code}, ${event.signature}`;
    case 'payment.signed':
      return `${event.payerSignature}, may land until block height ${event.lastValidBlockHeight}`;
    case 'payment.sent':
      return callText(event);
    case 'payment.answered':
      return `status ${event.status}`;
    case 'payment.settled':
      return event.receipt.payment.signature ?? '';
    case 'payment.unsettled':
      return 'it can never land';
    case 'payment.uncertain':
      return `${event.code}, the chain decides until block height ${event.lastValidBlockHeight}`;
    case 'payment.failed':
      return `${event.code} (funds ${event.funds}): ${event.message}`;
    case 'warning':
      return event.message;
  }
}

function callText({ url, method }: { readonly url: string; readonly method: string }): string {
  const { origin, pathname } = new URL(url);
  return `${method} ${origin}${pathname}`;
}
