import { hex } from '../../src/internal/bytes.js';
import type { Runtime } from '../../src/internal/runtime.js';

/** Headers of every answer: nothing may cache it, run it, frame it or guess its type. */
export const ALWAYS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Returns the caller's own request id if it is safe to log, else a new id. */
export function requestIdOf(
  headers: Headers,
  { randomBytes }: Pick<Runtime, 'randomBytes'>,
): string {
  const callersId = headers.get('x-request-id') ?? '';
  return REQUEST_ID.test(callersId) ? callersId : hex.encode(randomBytes(16));
}
