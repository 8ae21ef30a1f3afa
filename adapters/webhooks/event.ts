import { webhookEvents, type WebhookEvent, type WebhookEventName } from '../../src/journal/outbox.js';

/** The largest body that Standard Webhooks recommend to send; with it, all that a receiver has to hash before it knows who speaks. */
export const MAX_BODY_BYTES = 20_000;

const EVENT_ID = /^[A-Za-z0-9_-]{1,256}$/;
const TEXT = /^[^]{0,8192}$/;
const AMOUNT = /^(?:0|[1-9][0-9]{0,39})$/;
/** Not the list of this version: a newer sender has codes that an older receiver does not know, and may still be told. */
const CODE = /^[a-z][a-z0-9_]{0,63}$/;
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z$/;

type Fields = Readonly<Record<string, RegExp>>;

const ABOUT: Fields = { id: TEXT, wallet: TEXT, network: TEXT, url: TEXT, method: TEXT };
const PRICE: Fields = { mint: TEXT, amount: AMOUNT, payTo: TEXT };
const MINTS: Fields = { signature: TEXT, inputMint: TEXT, outputMint: TEXT, provider: TEXT };

/** What an event of each kind must say; more is left in it. */
const NEEDED: { readonly [N in WebhookEventName]: Fields } = {
  'swap.confirmed': { ...ABOUT, ...MINTS, inAmount: AMOUNT, outAmount: AMOUNT, feeLamports: AMOUNT },
  'swap.failed': { ...ABOUT, ...MINTS, code: CODE },
  'payment.settled': { ...ABOUT, ...PRICE, payerSignature: TEXT, signature: TEXT },
  'payment.failed': { ...ABOUT, ...PRICE },
  'payment.uncertain': { ...ABOUT, ...PRICE, payerSignature: TEXT, lastValidBlockHeight: AMOUNT, code: CODE },
};

/** What it may say, in a form of ours if it does. */
const ALLOWED: { readonly [N in WebhookEventName]?: Fields } = { 'payment.failed': { payerSignature: TEXT } };

/** Whether a name may be the id of an event: it is signed beside the body, with dots between, so it has none. */
export function isEventId(id: string): boolean {
  return EVENT_ID.test(id);
}

export function isEventName(name: unknown): name is WebhookEventName {
  return webhookEvents.some((one) => one === name);
}

/** Whether a value is an event, as far as its receiver relies on it. */
export function isEvent(value: unknown): value is WebhookEvent {
  if (!isRecord(value)) return false;
  const { id, type, timestamp, data } = value;
  if (!matches(id, EVENT_ID) || !matches(timestamp, TIME) || !isEventName(type) || !isRecord(data)) return false;
  const has = ([name, shape]: [string, RegExp]) => matches(data[name], shape);
  const mayHave = ([name, shape]: [string, RegExp]) => data[name] === undefined || matches(data[name], shape);
  return Object.entries(NEEDED[type]).every(has) && Object.entries(ALLOWED[type] ?? {}).every(mayHave);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function matches(value: unknown, shape: RegExp): boolean {
  return typeof value === 'string' && shape.test(value);
}
