import type { Plan } from 'exact-change';
import { element, facts } from './dom.js';
import { amountText, short, solText, usdText, type DecimalsOf } from './text.js';

export interface Choices {
  readonly pay: () => void;
  readonly cancel: () => void;
}

/** Shows the cost of a purchase before the wallet signs it. */
export function planPanel(
  plan: Plan,
  most: string | undefined,
  decimalsOf: DecimalsOf,
  { pay, cancel }: Choices,
): HTMLElement {
  const { payment, swap, maxFeeLamports, refused, cost } = plan;
  const text = (mint: string, amount: string) => amountText(mint, amount, decimalsOf(mint));
  if (payment === undefined)
    return element('p', { class: 'panel' }, `Nothing to pay: the answer was ${plan.status}.`);
  const price = amountText(payment.mint, payment.amount, payment.decimals);
  const { host } = new URL(plan.url);
  return element(
    'div',
    { class: 'panel' },
    element('h3', { id: 'plan-title', tabindex: '-1' }, `${price} to ${host}`),
    facts([
      ['Price', price, payment.usd === undefined ? '' : ` (${usdText(payment.usd)})`],
      ['Goes to', element('code', {}, short(payment.payTo))],
      [
        'Swap',
        swap === undefined
          ? 'None: the wallet holds enough.'
          : `${text(swap.inputMint, swap.inAmount)} for ${text(swap.outputMint, swap.outAmount)}. What is left over stays in the wallet.`,
      ],
      ...(swap === undefined
        ? []
        : [
            [
              'Swap, at worst',
              `${text(swap.inputMint, swap.maxInAmount)} for ${text(swap.outputMint, swap.minOutAmount)}`,
            ] as const,
            ['Network fee, at most', solText(maxFeeLamports)] as const,
          ]),
      ['Service fee', 'None'],
      [
        'In all, at most',
        element('strong', {}, most === undefined ? 'no price in dollars is known' : usdText(most)),
        cost?.parts === undefined
          ? ''
          : ` (price ${usdText(cost.parts.payments)}, swap ${usdText(cost.parts.swaps)}, fees and rent ${usdText(cost.parts.fees)})`,
      ],
    ]),
    refused.length === 0
      ? undefined
      : element(
          'details',
          {},
          element('summary', {}, `${refused.length} other ways to pay were not chosen`),
          element('ul', {}, ...refused.map(({ message }) => element('li', {}, message))),
        ),
    element(
      'div',
      { class: 'row' },
      element('button', { type: 'button', class: 'primary', onclick: pay }, `Pay ${price}`),
      element('button', { type: 'button', onclick: cancel }, 'Cancel'),
    ),
  );
}
