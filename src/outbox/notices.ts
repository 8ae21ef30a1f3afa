import { sha256 } from '../internal/sha2.js';
import { hex } from '../internal/bytes.js';
import { parseUrl } from '../internal/parse.js';
import { isFromService } from '../journal/attempt-names.js';
import type { AttemptState } from '../journal/states.js';
import type { Attempt } from '../journal/types.js';
import type { NextJob, WebhookDetails, WebhookEvent, WebhookEventName } from './outbox.js';

const MAX_URL = 2_048;
// A method is a short word, but `fetch` lets a caller use any token.
const MAX_METHOD = 64;
const MAX_ID_PART = 100;

/** States of attempts that signed no payment and never will. */
const UNPAID: readonly AttemptState[] = ['abandoned', 'unpaid'];

/**
 * Returns the events of a change of an attempt. `before` is the attempt on record, undefined if it
 * is new; `after` is the attempt from now on, undefined if it was released. Each reserved attempt
 * ends in one `payment.settled` or `payment.failed` event, unless it is a swap alone or a service
 * releases it. Each of its swaps that the chain has decided ends in one `swap.confirmed` or
 * `swap.failed` event. No event comes twice, because the change that causes it is written once.
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

/** As {@link eventsOf}, as jobs that are due at once. */
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
    return [eventOf('swap.failed', after, details, now, [signature])];
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
  return [eventOf('swap.confirmed', after, details, now, [signature])];
}

function ofPayment(before: Attempt, after: Attempt | undefined, now: number): WebhookEvent[] {
  const attempt = after ?? before;
  const { mint, amount, payTo, payment, receipt, doubt } = attempt;
  // A swap alone, such as a top-up: no payment was ever meant.
  if (amount === '0') return [];
  const base = { ...aboutOf(attempt), mint, amount, payTo };
  const failed = (details: WebhookDetails['payment.failed']) => [
    eventOf('payment.failed', attempt, details, now),
  ];
  if (before.state === 'reserved') {
    // A service releases a reservation that it could not sign. Its caller was told nothing of it,
    // and may send the same bytes again, under the same id.
    const isOver = after === undefined ? !isFromService(before) : UNPAID.includes(after.state);
    return isOver ? failed(base) : [];
  }
  // A signed attempt always has its payment.
  if (before.state !== 'signed' || after === undefined || payment === undefined) return [];
  const { payerSignature, lastValidBlockHeight } = payment;
  if (after.state === 'unsettled') return failed({ ...base, payerSignature });
  if (after.state === 'settled') {
    // A payment that was found on chain has a signature there.
    const signature = receipt?.payment.signature ?? '';
    return [eventOf('payment.settled', attempt, { ...base, payerSignature, signature }, now)];
  }
  if (doubt === undefined || before.doubt !== undefined) return [];
  const details = { ...base, payerSignature, lastValidBlockHeight, code: doubt };
  return [eventOf('payment.uncertain', attempt, details, now)];
}

/**
 * Its id is the same from each process and at each delivery, so that the receiver recognises a
 * repeat. It has no dots, because Standard Webhooks sign it between dots.
 */
function eventOf<N extends WebhookEventName>(
  type: N,
  { id }: Attempt,
  data: WebhookDetails[N],
  now: number,
  swapSignature: readonly string[] = [],
): { id: string; type: N; timestamp: string; data: WebhookDetails[N] } {
  const parts = [id, type.replace('.', '_'), ...swapSignature];
  const timestamp = new Date(now).toISOString();
  return { id: parts.map(plain).join('_'), type, timestamp, data };
}

/** Returns text as it is if it is short and plain, otherwise its hash. */
function plain(text: string): string {
  return /^[A-Za-z0-9_-]+$/.test(text) && text.length <= MAX_ID_PART
    ? text
    : hex.encode(sha256(new TextEncoder().encode(text)));
}

function aboutOf({ id, wallet, network, url, method }: Attempt) {
  return { id, wallet, network, url: publicPart(url), method: method.slice(0, MAX_METHOD) };
}

/** Returns an address without the parts that may hold a secret: user, query and fragment. */
function publicPart(address: string): string {
  const url = parseUrl(address);
  if (url === undefined) return '';
  // The address of a swap alone has no host: then the origin is the text `null`.
  const place = url.origin === 'null' ? url.protocol : url.origin;
  return `${place}${url.pathname}`.slice(0, MAX_URL);
}
