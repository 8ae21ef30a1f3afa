import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Order } from './approval.js';

/** What is sealed: an order, for one call of a model, once. */
interface Sealed {
  readonly order: Order;
  readonly call: string;
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const VALID_MS = 10 * 60_000;

/**
 * Seals what a person is asked, because it goes through the host and back; each is good for one
 * call and once, as long as this process runs.
 */
export function createSeals(now: () => number): {
  seal(order: Order, call: string): string;
  /** The order, if it is ours, for this call, not too old, and not used yet. It is then. */
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
      const [given, right] = [Buffer.from(tag, 'base64url'), tagOf(text)];
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      // Sealed by us, so it is what we wrote.
      const sealed = JSON.parse(Buffer.from(text, 'base64url').toString()) as Sealed;
      if (sealed.call !== call || sealed.until < now()) return undefined;
      return unused.delete(sealed.nonce) ? sealed.order : undefined;
    },
  };
}
