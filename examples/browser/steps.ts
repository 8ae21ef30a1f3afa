import type { ClientEvent } from 'exact-change';
import { element, find } from './dom.js';
import { amountText, short, type DecimalsOf } from './text.js';

/** Returns the text of a payment's step for the user. */
function stepText(event: ClientEvent, decimalsOf: DecimalsOf): string {
  const text = (mint: string, amount: string) => amountText(mint, amount, decimalsOf(mint));
  switch (event.type) {
    case 'payment.required':
      return `The seller asks for a payment, in ${event.offers} ${event.offers === 1 ? 'form' : 'forms'}.`;
    case 'payment.chosen':
      return `To pay: ${amountText(event.mint, event.amount, event.decimals)} to ${short(event.payTo)}.`;
    case 'balance.checked':
      return event.missing === '0'
        ? 'The wallet holds enough.'
        : `The wallet lacks ${text(event.mint, event.missing)}.`;
    case 'swap.quoted':
      return `A swap would bring ${text(event.outputMint, event.outAmount)} for ${text(event.inputMint, event.inAmount)}.`;
    case 'swap.signed':
      return 'The swap is signed and on its way.';
    case 'swap.confirmed':
      return `The swap is on chain: ${text(event.outputMint, event.outAmount)} for ${text(event.inputMint, event.inAmount)}.`;
    case 'swap.failed':
      return `The swap failed (${event.code}).`;
    case 'payment.signed':
      return 'The payment is signed, and written down in this browser.';
    case 'payment.sent':
      return 'The request is sent again, with the payment.';
    case 'payment.answered':
      return `The seller answers ${event.status}.`;
    case 'payment.settled':
      return 'The chain shows the payment.';
    case 'payment.unsettled':
      return 'The payment can never land: nothing was spent.';
    case 'payment.uncertain':
      return `Whether it is paid is not known yet (${event.code}). The chain decides.`;
    case 'payment.failed':
      return `It failed before a payment was signed (${event.code}).`;
    case 'warning':
      return event.message;
  }
}

/** Starts a list of steps, each with the time since the first step. */
export function startSteps(decimalsOf: DecimalsOf): (event: ClientEvent) => void {
  const list = find('steps');
  list.replaceChildren();
  find('steps-section').hidden = false;
  let first: number | undefined;
  return (event) => {
    first ??= event.at;
    const after = `${((event.at - first) / 1000).toFixed(1)} s`;
    const isEnd = event.type === 'payment.settled';
    const isBad = /failed|uncertain|unsettled|warning/.test(event.type);
    const kind = isEnd ? 'good' : isBad ? 'bad' : 'plain';
    list.append(
      element(
        'li',
        { class: kind },
        element('span', {}, stepText(event, decimalsOf)),
        element('time', {}, after),
      ),
    );
  };
}
