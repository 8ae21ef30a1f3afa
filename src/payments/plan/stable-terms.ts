import type { Call } from '../../internal/request.js';
import { sinceThen } from '../../internal/runtime.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';

/** For how long terms of an address that the caller has named are kept, in milliseconds. */
const NAMED_MS = 5 * 60_000;
/** However long a seller says that its terms hold. */
const MOST_MS = 24 * 60 * 60_000;

/** Terms by which a call may be paid with its first request; undefined if there are none. */
export function stableTermsOf(
  { config, memory }: PaymentContext,
  call: Call,
): PaymentRequired | undefined {
  if (memory.stableTerms.size === 0) return undefined;
  const kept = memory.stableTerms.get(nameOf(config, call));
  return kept === undefined || sinceThen(config.runtime, kept.at) >= kept.ms
    ? undefined
    : kept.terms;
}

/**
 * Remembers that a call was charged for, and its terms if the next may be paid ahead.
 *
 * @param unpaid - The answer that the terms came with.
 * @param paid - The answer to the paid request.
 */
export function noteCharge(
  { config, memory }: PaymentContext,
  call: Call,
  terms: PaymentRequired,
  unpaid: Response,
  paid: Response,
): void {
  makeRoom(memory.charging);
  memory.charging.add(new URL(call.url).origin);
  const ms = lifetimeOf(config.presign, call, unpaid);
  // What a redirect led to is asked for by another address.
  if (ms <= 0 || unpaid.redirected || !paid.ok) return;
  makeRoom(memory.stableTerms);
  memory.stableTerms.set(nameOf(config, call), { terms, at: config.runtime.now(), ms });
}

/** The next call to the same address asks first. */
export function forgetStableTerms({ config, memory }: PaymentContext, call: Call): void {
  memory.stableTerms.delete(nameOf(config, call));
}

/** What a seller says holds for one URL; what the caller says of an address, for each query too. */
function nameOf({ presign }: PaymentContext['config'], { method, url }: Call): string {
  const { origin, pathname, search } = new URL(url);
  return `${method} ${origin}${pathname}${presign === 'stated' ? search : ''}`;
}

function lifetimeOf(
  presign: PaymentContext['config']['presign'],
  { method, url }: Call,
  unpaid: Response,
): number {
  if (presign !== 'stated') return presign.some((one) => isBelow(url, one)) ? NAMED_MS : 0;
  if (method !== 'GET' && method !== 'HEAD') return 0;
  const stated =
    unpaid.headers
      .get('cache-control')
      ?.toLowerCase()
      .split(/[\s,]+/) ?? [];
  if (stated.includes('no-store') || stated.includes('no-cache')) return 0;
  const [age = '0'] = stated.flatMap((one) => /^max-age=(\d{1,9})$/.exec(one)?.[1] ?? []);
  return Math.min(Number(age) * 1_000, MOST_MS);
}

/** Whether an address is another, or below it. */
function isBelow(url: string, base: string): boolean {
  const [one, named] = [new URL(url), new URL(base)];
  const path = named.pathname.replace(/\/*$/, '');
  return (
    one.origin === named.origin && (one.pathname === path || one.pathname.startsWith(`${path}/`))
  );
}
