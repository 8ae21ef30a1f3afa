import type { WebhookEventName } from '../../src/outbox/outbox.js';

/** The form of a text in a message. The checks and the API description both use it. */
export interface Shape {
  /** UTF-16 code units. */
  readonly maxLength: number;
  /** Matches the whole text. It uses only syntax that every dialect of expressions has. */
  readonly pattern?: RegExp;
}

export type Fields = Readonly<Record<string, Shape>>;

const TEXT: Shape = { maxLength: 8_192 };
const AMOUNT: Shape = { maxLength: 40, pattern: /^(?:0|[1-9][0-9]*)$/ };
/**
 * An error code in general, not the list of this version: an older receiver must accept new codes
 * of a newer sender.
 */
const CODE: Shape = { maxLength: 64, pattern: /^[a-z][a-z0-9_]*$/ };

/** The headers of a message. */
export const headerShapes = {
  /** The event's id. It has no dots, because the signed text joins id, time and body with dots. */
  'webhook-id': { maxLength: 256, pattern: /^[A-Za-z0-9_-]+$/ },
  /** Seconds without leading zeros, because the signature is over the number. */
  'webhook-timestamp': { maxLength: 12, pattern: /^(?:0|[1-9][0-9]*)$/ },
  'webhook-signature': {
    maxLength: 16 * 520,
    pattern:
      /^v[0-9]{1,2}[a-z]?,[A-Za-z0-9+/]{1,512}={0,2}(?: v[0-9]{1,2}[a-z]?,[A-Za-z0-9+/]{1,512}={0,2}){0,15}$/,
  },
} satisfies Fields;

/** When an event was put on record. */
export const timestampShape: Shape = {
  maxLength: 30,
  pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z$/,
};

const ABOUT: Fields = { id: TEXT, wallet: TEXT, network: TEXT, url: TEXT, method: TEXT };
const PRICE: Fields = { mint: TEXT, amount: AMOUNT, payTo: TEXT };
const MINTS: Fields = { signature: TEXT, inputMint: TEXT, outputMint: TEXT, provider: TEXT };

/** Required fields of each kind of event. Further fields are kept. */
export const neededShapes: { readonly [N in WebhookEventName]: Fields } = {
  'swap.confirmed': {
    ...ABOUT,
    ...MINTS,
    inAmount: AMOUNT,
    outAmount: AMOUNT,
    feeLamports: AMOUNT,
  },
  'swap.failed': { ...ABOUT, ...MINTS, code: CODE },
  'payment.settled': { ...ABOUT, ...PRICE, payerSignature: TEXT, signature: TEXT },
  'payment.failed': { ...ABOUT, ...PRICE },
  'payment.uncertain': {
    ...ABOUT,
    ...PRICE,
    payerSignature: TEXT,
    lastValidBlockHeight: AMOUNT,
    code: CODE,
  },
};

/** Optional fields of each kind of event, and their form. */
export const allowedShapes: { readonly [N in WebhookEventName]?: Fields } = {
  'payment.failed': { payerSignature: TEXT },
};

/** Whether a value is a text of a shape. */
export function hasShape(value: unknown, { maxLength, pattern }: Shape): value is string {
  return (
    typeof value === 'string' &&
    value.length <= maxLength &&
    (pattern === undefined || pattern.test(value))
  );
}
