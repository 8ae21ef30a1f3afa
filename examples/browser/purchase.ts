import { isExactChangeError, type Client, type Plan } from 'exact-change';
import { microUsd, upToCents } from './text.js';

/** What a person said yes to. It outlives a reload, so that the purchase ends as it was approved. */
export interface Purchase {
  /** The wallet that pays: from another one it would be paid again. */
  readonly wallet: string;
  readonly url: string;
  /** The same for each try: it is paid once. */
  readonly key: string;
  readonly mint: string;
  readonly amount: string;
  readonly payTo: string;
  /** The most that may leave the wallet for it, in US dollars; absent if it has no price. */
  readonly most?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

const STORED = 'exact-change purchase';
const SHOWN = 20_000;
const AGAIN_MS = 500;

/** What approving a plan means; undefined if there is nothing to pay. */
export function purchaseOf(wallet: string, { url, payment, cost }: Plan): Purchase | undefined {
  if (payment === undefined) return undefined;
  const { mint, amount, payTo } = payment;
  const most = cost?.usd === undefined ? {} : { most: upToCents(cost.usd) };
  return { wallet, url, key: crypto.randomUUID(), mint, amount, payTo, ...most };
}

/** Whether what is about to be signed is what was approved, and takes no more. */
export function isApproved(plan: Plan, purchase: Purchase | undefined): boolean {
  if (purchase === undefined || plan.payment === undefined) return false;
  const { mint, amount, payTo } = plan.payment;
  const { most } = purchase;
  const usd = plan.cost?.usd;
  const isWithin =
    most === undefined || usd === undefined ? most === usd : microUsd(usd) <= microUsd(most);
  return (
    plan.url === purchase.url &&
    mint === purchase.mint &&
    payTo === purchase.payTo &&
    BigInt(amount) <= BigInt(purchase.amount) &&
    isWithin
  );
}

/** The purchase of a wallet that a reload cut off, if one did. */
export function cutOff(wallet: string): Purchase | undefined {
  const text = sessionStorage.getItem(STORED);
  if (text === null) return undefined;
  const purchase = JSON.parse(text) as Purchase; // Written by `buy`.
  return purchase.wallet === wallet ? purchase : undefined;
}

/**
 * Buys, or goes on with it after a reload: asks until there is an answer, or it is known that there
 * can be none. Rejects as `client.fetch`.
 *
 * @param waits - Called each time before it asks again, with the reason.
 */
export async function buy(
  client: Client,
  purchase: Purchase,
  waits: (reason: string) => void,
): Promise<Answer> {
  sessionStorage.setItem(STORED, JSON.stringify(purchase));
  for (;;) {
    try {
      const response = await client.fetch(purchase.url, { idempotencyKey: purchase.key });
      const text = await response.text();
      sessionStorage.removeItem(STORED);
      return { status: response.status, text: text.slice(0, SHOWN) };
    } catch (error) {
      // The tab before the reload is about to end, or the chain has yet to decide.
      if (
        !isExactChangeError(error, 'payment_in_progress') &&
        !isExactChangeError(error, 'payment_uncertain')
      ) {
        sessionStorage.removeItem(STORED);
        throw error;
      }
      waits(error.message);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
