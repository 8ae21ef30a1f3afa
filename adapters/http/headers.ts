import { hex } from '../../src/internal/bytes.js';
import type { Runtime } from '../../src/internal/runtime.js';

/** On every answer: it is for this caller now, and nothing to run, frame or guess the type of. */
export const ALWAYS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's own request id if it is fit to be logged, else a new one. */
export function requestIdOf(
  headers: Headers,
  { randomBytes }: Pick<Runtime, 'randomBytes'>,
): string {
  const given = headers.get('x-request-id') ?? '';
  return REQUEST_ID.test(given) ? given : hex.encode(randomBytes(16));
}
