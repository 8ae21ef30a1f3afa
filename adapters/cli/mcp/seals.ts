import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Order } from './approval.js';

/** An order that is sealed for one call of a model, for one use. */
interface Sealed {
  readonly order: Order;
  readonly call: string;
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const VALID_MS = 10 * 60_000;

/**
 * Seals orders, because an order goes through the host and back while the person is asked. A seal
 * is valid for one call, for one use, and only in this process.
 */
export function createSeals(now: () => number): {
  seal(order: Order, call: string): string;
  /** Returns the order and uses up the seal; undefined if it is not valid for this call. */
  open(state: string, call: string): Order | undefined;
} {
  const key = randomBytes(32);
  const unused = new Map<string, number>();
  const tagOf = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    seal(order, call) {
      const sealed: Sealed = {
        order,
        call,
        nonce: randomBytes(16).toString('hex'),
        until: now() + VALID_MS,
      };
      for (const [nonce, until] of unused) if (until < now()) unused.delete(nonce);
      unused.set(sealed.nonce, sealed.until);
      const text = Buffer.from(JSON.stringify(sealed)).toString('base64url');
      return `${text}.${tagOf(text).toString('base64url')}`;
    },
    open(state, call) {
      const [text = '', tag = ''] = state.split('.');
      const [actual, expected] = [Buffer.from(tag, 'base64url'), tagOf(text)];
      if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined;
      // The tag is valid, so `seal` wrote this JSON.
      const sealed = JSON.parse(Buffer.from(text, 'base64url').toString()) as Sealed;
      if (sealed.call !== call || sealed.until < now()) return undefined;
      return unused.delete(sealed.nonce) ? sealed.order : undefined;
    },
  };
}
