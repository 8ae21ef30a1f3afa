import { isExactChangeError, type Client, type Plan } from 'exact-change';
import { microUsd, upToCents } from './text.js';

/** A purchase that the user approved. It survives a reload, so that it ends as approved. */
export interface Purchase {
  /** Wallet that pays. Another wallet would pay a second time. */
  readonly wallet: string;
  readonly url: string;
  /** Idempotency key of each try, so that the purchase is paid a single time. */
  readonly key: string;
  readonly mint: string;
  readonly amount: string;
  readonly payTo: string;
  /** Most US dollars that may leave the wallet; absent if the token has no price. */
  readonly most?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

const STORED = 'exact-change purchase';
const SHOWN = 20_000;
const AGAIN_MS = 500;

/** Returns the purchase that an approval of the plan allows; undefined if the URL is free. */
export function purchaseOf(wallet: string, { url, payment, cost }: Plan): Purchase | undefined {
  if (payment === undefined) return undefined;
  const { mint, amount, payTo } = payment;
  const most = cost?.usd === undefined ? {} : { most: upToCents(cost.usd) };
  return { wallet, url, key: crypto.randomUUID(), mint, amount, payTo, ...most };
}

/** Returns true if a plan matches the approved purchase and takes no more. */
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

/** Returns the wallet's purchase that a reload interrupted, or undefined. */
export function cutOff(wallet: string): Purchase | undefined {
  const text = sessionStorage.getItem(STORED);
  if (text === null) return undefined;
  const purchase = JSON.parse(text) as Purchase; // `buy` wrote it.
  return purchase.wallet === wallet ? purchase : undefined;
}

/**
 * Buys, or continues after a reload. It repeats the call until there is an answer or a final error.
 * Rejects like `client.fetch`.
 *
 * @param waits - Called before each repetition, with the reason.
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
      // The call from before the reload has not ended yet, or the chain has not decided yet.
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
