import { AsyncLocalStorage } from 'node:async_hooks';
import { parseUiAmount, type Plan, type SwapQuote } from 'exact-change';
import type { SwapApproval } from 'exact-change/ai';
import { isRecord } from '../../../src/internal/record.js';
import { amountText } from '../../../src/token-text.js';

/** The order that a person is asked about: amount, token and payee. It holds no seller's text. */
export interface Order {
  readonly kind: 'payment' | 'swap';
  /** Host and method of the call; tokens of the swap. */
  readonly what: string;
  readonly mint: string;
  readonly payTo: string;
  /** Base units of the price; of a swap, the most that leaves. */
  readonly amount: string;
  /** Dollars at most, all in; absent if a part has no price. */
  readonly usd?: string;
  /** The most that a swap before the payment takes: base units, and of which mint. */
  readonly takes?: readonly [units: string, mint: string];
  /** The least that a swap brings, in base units. */
  readonly brings?: string;
}

const USD_DECIMALS = 6;
const microUsd = (usd: string | undefined) => parseUiAmount(usd, USD_DECIMALS);

function orderOfPlan({ url, method, payment, swap, cost }: Plan): Order | undefined {
  if (payment === undefined) return undefined;
  const { mint, payTo, amount } = payment;
  const usd = cost?.usd;
  return {
    ...{ kind: 'payment', what: `${method} ${new URL(url).host}`, mint, payTo, amount },
    ...(usd === undefined ? {} : { usd }),
    ...(swap === undefined ? {} : { takes: [swap.maxInAmount, swap.inputMint] }),
  };
}

/**
 * Returns the order of a swap. It has no `usd`, so the person is asked about every swap: a swap's
 * loss counts in the caps, and its worth does not.
 */
function orderOfSwap(quote: Omit<SwapQuote, 'raw'>): Order {
  const { inputMint, outputMint, maxInAmount, minOutAmount } = quote;
  return {
    ...{ kind: 'swap', what: `${inputMint} ${outputMint}`, mint: inputMint, payTo: '' },
    ...{ amount: maxInAmount, brings: minOutAmount },
  };
}

/** Whether an order is a payment that costs no more than `askAbove`. */
function isBelow({ kind, usd }: Order, askAbove: string): boolean {
  const [cost, limit] = [microUsd(usd), microUsd(askAbove)];
  return kind === 'payment' && cost !== undefined && limit !== undefined && cost <= limit;
}

/** Whether an approved order covers the current order: same payee and token, and no higher cost. */
function covers(approved: Order, now: Order): boolean {
  const [most, usd] = [microUsd(approved.usd), microUsd(now.usd)];
  const isWithinUsd =
    now.usd === undefined
      ? approved.usd === undefined && takesNoMore(approved, now)
      : most !== undefined && usd !== undefined && usd <= most;
  return isSame(approved, now) && isWithinUsd && BigInt(now.amount) <= BigInt(approved.amount);
}

/** Whether the swap of an order stays within the approved one, because no dollars bound it. */
function takesNoMore({ takes: most }: Order, { takes }: Order): boolean {
  if (takes === undefined) return true;
  return most !== undefined && takes[1] === most[1] && BigInt(takes[0]) <= BigInt(most[0]);
}

function isSame(approved: Order, now: Order): boolean {
  return (['kind', 'what', 'mint', 'payTo'] as const).every((name) => approved[name] === now[name]);
}

/** Returns the question to the person about an order. */
export function questionOf(order: Order, network: string): string {
  const amount = amountText(network, order.mint, BigInt(order.amount));
  if (order.kind === 'swap') {
    const [, output = ''] = order.what.split(' ');
    const brings = amountText(network, output, BigInt(order.brings ?? 0));
    return `Swap at most ${amount} for at least ${brings}?`;
  }
  const inAll =
    order.usd === undefined
      ? `${swapText(order, network)}what it takes in all is not known in dollars`
      : `at most ${order.usd} USD in all, swap and fees included`;
  return `Pay ${amount} to ${order.payTo} for ${order.what} (${inAll})?`;
}

function swapText({ takes }: Order, network: string): string {
  if (takes === undefined) return '';
  return `after a swap of at most ${amountText(network, takes[1], BigInt(takes[0]))}; `;
}

/** Decides on the orders in calls of a model. */
export interface Approvals {
  /** Dollars that a payment may cost unasked. */
  readonly askAbove: string;
  readonly approve: (plan: Plan) => Promise<boolean>;
  /** Decides on a swap. The amounts that the person approved bound it, not the current quote. */
  readonly approveSwap: (quote: Omit<SwapQuote, 'raw'>) => Promise<SwapApproval>;
  /** Ends the approval of the call that signs a payment. A second payment may land beside it. */
  readonly onPaymentSigned: () => void;
  /**
   * Makes a call. An order in it is approved if the person approved it, or if it costs no more than
   * `askAbove`. Resolves to the result and the last refused order.
   */
  during<T>(
    approved: Order | undefined,
    call: () => Promise<T>,
  ): Promise<{ readonly result: T; readonly refused: Order | undefined }>;
}

interface CallInStore {
  readonly approved: Order | undefined;
  refused: Order | undefined;
  /** Whether a payment of the call was signed. */
  hasPaid: boolean;
}

export function createApprovals(askAbove: string): Approvals {
  // All calls share the `approve` of the client's policy, so the store tells which call asks.
  const calls = new AsyncLocalStorage<CallInStore>();
  const decide = async (order: Order | undefined): Promise<boolean> => {
    const call = calls.getStore();
    if (order === undefined || call === undefined) return false;
    if (isBelow(order, askAbove)) return true;
    // A question about a second payment would hide what became of the first.
    if (call.hasPaid) return false;
    if (call.approved !== undefined && covers(call.approved, order)) return true;
    call.refused = order;
    return false;
  };
  return {
    askAbove,
    approve: (plan) => decide(orderOfPlan(plan)),
    async approveSwap(quote) {
      const order = orderOfSwap(quote);
      const approved = calls.getStore()?.approved;
      return approved?.brings !== undefined && isSame(approved, order)
        ? { maxInAmount: approved.amount, minOutAmount: approved.brings }
        : decide(order);
    },
    onPaymentSigned() {
      const call = calls.getStore();
      if (call !== undefined) call.hasPaid = true;
    },
    async during(approved, work) {
      const call: CallInStore = { approved, refused: undefined, hasPaid: false };
      const result = await calls.run(call, work);
      return { result, refused: call.refused };
    },
  };
}

/** The name of the one question of a call, and of its one field. */
export const QUESTION = 'approval';

export const ANSWER_SCHEMA = {
  type: 'object' as const,
  properties: { approve: { type: 'boolean' as const, title: 'Approve', default: false } },
  required: ['approve'],
};

/** Whether the person accepted the question and said yes. */
export function isYes(responses: Readonly<Record<string, unknown>> | undefined): boolean {
  const answer = responses?.[QUESTION];
  if (!isRecord(answer) || answer['action'] !== 'accept' || !isRecord(answer['content']))
    return false;
  return answer['content']['approve'] === true;
}
