import { sha256 } from '../internal/sha2.js';
import { hex } from '../internal/bytes.js';
import type { AttemptState } from '../journal/states.js';
import type { Attempt } from '../journal/types.js';
import type { NextJob, WebhookDetails, WebhookEvent, WebhookEventName } from './outbox.js';

const MAX_URL = 2_048;
// Methods are a word; a caller's own may be anything that `fetch` lets through.
const MAX_METHOD = 64;
const MAX_ID_PART = 100;

/** States of attempts that signed no payment and never will. */
const UNPAID: readonly AttemptState[] = ['abandoned', 'unpaid'];

/**
 * What a change of an attempt tells the outside. `before` is what was on record, undefined if it
 * is new; `after` what is on record from now on, undefined if it was released. Each reserved
 * attempt ends in one `payment.settled` or `payment.failed`, and each of its swaps that the chain
 * has decided in one `swap.confirmed` or `swap.failed`, because what leads to them is written once.
 *
 * @param now - Milliseconds since the epoch.
 */
export function eventsOf(
  before: Attempt | undefined,
  after: Attempt | undefined,
  now: number,
): WebhookEvent[] {
  if (before === undefined) return [];
  return [...ofSwap(before, after, now), ...ofPayment(before, after, now)];
}

/** The same, as jobs that are due at once. */
export function jobsOf(
  before: Attempt | undefined,
  after: Attempt | undefined,
  now: number,
): NextJob[] {
  return eventsOf(before, after, now).map((event) => ({ event, failures: 0, dueAt: now }));
}

function ofSwap(before: Attempt, after: Attempt | undefined, now: number): WebhookEvent[] {
  const swap = after?.swap;
  if (after === undefined || swap?.outcome === undefined) return [];
  const { signature, inputMint, outputMint, provider, outcome } = swap;
  if (before.swap?.signature === signature && before.swap.outcome !== undefined) return [];
  const about = aboutOf(after);
  if (outcome.state === 'failed') {
    const details = { ...about, signature, inputMint, outputMint, provider, code: outcome.code };
    return [eventOf('swap.failed', idOf(after, 'swap.failed', signature), details, now)];
  }
  const { inAmount, outAmount, feeLamports } = outcome;
  const details = {
    ...about,
    signature,
    inputMint,
    inAmount,
    outputMint,
    outAmount,
    provider,
    feeLamports,
  };
  return [eventOf('swap.confirmed', idOf(after, 'swap.confirmed', signature), details, now)];
}

function ofPayment(before: Attempt, after: Attempt | undefined, now: number): WebhookEvent[] {
  const one = after ?? before;
  const base = { ...aboutOf(one), mint: one.mint, amount: one.amount, payTo: one.payTo };
  const failed = (details: WebhookDetails['payment.failed']) => [
    eventOf('payment.failed', idOf(one, 'payment.failed'), details, now),
  ];
  if (before.state === 'reserved')
    return after === undefined || UNPAID.includes(after.state) ? failed(base) : [];
  // What is signed has its payment on record.
  const { payment, receipt, doubt } = one;
  if (before.state !== 'signed' || after === undefined || payment === undefined) return [];
  const { payerSignature, lastValidBlockHeight } = payment;
  if (after.state === 'unsettled') return failed({ ...base, payerSignature });
  if (after.state === 'settled') {
    // Found on chain, it has a signature there.
    const signature = receipt?.payment.signature ?? '';
    return [
      eventOf(
        'payment.settled',
        idOf(one, 'payment.settled'),
        { ...base, payerSignature, signature },
        now,
      ),
    ];
  }
  if (doubt === undefined || before.doubt !== undefined) return [];
  const details = { ...base, payerSignature, lastValidBlockHeight, code: doubt };
  return [eventOf('payment.uncertain', idOf(one, 'payment.uncertain'), details, now)];
}

function eventOf<N extends WebhookEventName>(
  type: N,
  id: string,
  data: WebhookDetails[N],
  now: number,
): {
  readonly id: string;
  readonly type: N;
  readonly timestamp: string;
  readonly data: WebhookDetails[N];
} {
  return { id, type, timestamp: new Date(now).toISOString(), data };
}

/**
 * The same from each process, and however often: its receiver can tell that it was told before.
 * Standard Webhooks sign it between dots.
 */
function idOf({ id }: Attempt, type: WebhookEventName, signature?: string): string {
  return [id, type.replace('.', '_'), ...(signature === undefined ? [] : [signature])]
    .map(plain)
    .join('_');
}

/** As it is, if that is short and plain. */
function plain(text: string): string {
  return /^[A-Za-z0-9_-]+$/.test(text) && text.length <= MAX_ID_PART
    ? text
    : hex.encode(sha256(new TextEncoder().encode(text)));
}

function aboutOf({ id, wallet, network, url, method }: Attempt) {
  return { id, wallet, network, url: placeOf(url), method: method.slice(0, MAX_METHOD) };
}

/** An address without what may hold a secret: user, query and fragment. */
function placeOf(address: string): string {
  try {
    const { origin, pathname } = new URL(address);
    return `${origin}${pathname}`.slice(0, MAX_URL);
  } catch {
    return '';
  }
}
