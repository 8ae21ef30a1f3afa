import type { Call } from '../../internal/request.js';
import { isRedirected } from '../../internal/origin.js';
import { sinceThen } from '../../internal/runtime.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';

/** Milliseconds for which terms are kept if the caller names their URL in `presign`. */
const NAMED_MS = 5 * 60_000;
/** The most milliseconds for which terms are kept, even if the seller states more. */
const MOST_MS = 24 * 60 * 60_000;

/** Returns the terms by which a call can pay with its first request; undefined if none are kept. */
export function stableTermsOf(
  { config, memory }: PaymentContext,
  call: Call,
): PaymentRequired | undefined {
  const kept = memory.stableTerms.get(keyOf(config, call));
  return kept === undefined || sinceThen(config.runtime, kept.at) >= kept.ms
    ? undefined
    : kept.terms;
}

/** A call that its seller charged for. */
interface Charge {
  readonly terms: PaymentRequired;
  /** The 402 with the terms. */
  readonly unpaid: Response;
  /** When the 402 came. Milliseconds since the epoch. */
  readonly at: number;
  readonly paid: Response;
}

/** Keeps the terms of a call that its seller charged for, if they may pay the next call ahead. */
export function noteTerms(
  { config, memory }: PaymentContext,
  call: Call,
  { terms, unpaid, at, paid }: Charge,
): void {
  const ms = lifetimeOf(config.presign, call, unpaid);
  // After a redirect, the terms belong to a different URL than the call's.
  if (ms <= 0 || isRedirected(unpaid, call.url) || !paid.ok) return;
  const key = keyOf(config, call);
  const keptAt = memory.stableTerms.get(key)?.at ?? at;
  // A parallel call may have ended first, with terms that its seller gave later.
  if (keptAt > at && keptAt <= config.runtime.now()) return;
  makeRoom(memory.stableTerms);
  memory.stableTerms.set(key, { terms, at, ms });
}

export function forgetStableTerms({ config, memory }: PaymentContext, call: Call): void {
  const key = keyOf(config, call);
  const kept = memory.stableTerms.get(key);
  // The time stays: a parallel call that got its terms before may end later.
  if (kept !== undefined) memory.stableTerms.set(key, { ...kept, at: config.runtime.now(), ms: 0 });
}

/** A seller states terms for a single URL; a URL that the caller names stands for all queries. */
function keyOf({ presign }: PaymentContext['config'], { method, url }: Call): string {
  const { origin, pathname, search } = new URL(url);
  return `${method} ${origin}${pathname}${presign === 'stated' ? search : ''}`;
}

/** Returns the milliseconds for which terms may be kept; 0 or less if they may not. */
function lifetimeOf(
  presign: PaymentContext['config']['presign'],
  { method, url }: Call,
  unpaid: Response,
): number {
  if (presign !== 'stated') return presign.some((base) => isBelow(url, base)) ? NAMED_MS : 0;
  if (method !== 'GET' && method !== 'HEAD') return 0;
  const directives =
    unpaid.headers
      .get('cache-control')
      ?.toLowerCase()
      .split(/[\s,]+/) ?? [];
  if (directives.includes('no-store') || directives.includes('no-cache')) return 0;
  const [life = '0'] = directives.flatMap((text) => /^max-age=(\d{1,9})$/.exec(text)?.[1] ?? []);
  // A cache may have kept the 402 for a part of its life.
  const [age = '0'] = /^\d{1,9}/.exec(unpaid.headers.get('age') ?? '') ?? [];
  return Math.min((Number(life) - Number(age)) * 1_000, MOST_MS);
}

/** Returns whether a URL's path is the base URL's path or below it, at the same origin. */
function isBelow(url: string, base: string): boolean {
  const [target, parent] = [new URL(url), new URL(base)];
  const path = parent.pathname.replace(/\/*$/, '');
  return (
    target.origin === parent.origin &&
    (target.pathname === path || target.pathname.startsWith(`${path}/`))
  );
}
