import type { Receipt } from '../receipt.js';

const DELIVERED: unique symbol = Symbol.for('exact-change.delivered');

/** @internal Marks a listed receipt, unseen, by whether the whole answer reached its caller. */
export function markDelivery(receipt: Receipt, delivered: boolean): Receipt {
  return Object.defineProperty(receipt, DELIVERED, { value: delivered });
}

/** @internal Returns that mark; undefined if another program gets the answer. */
export function deliveryOf(receipt: Receipt): boolean | undefined {
  const mark: unknown = Reflect.get(receipt, DELIVERED);
  return typeof mark === 'boolean' ? mark : undefined;
}
