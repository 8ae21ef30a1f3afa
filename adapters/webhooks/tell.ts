import { TransportError } from '../../src/errors.js';
import type { Runtime } from '../../src/internal/runtime.js';
import type { Endpoint, OutboxJob, WebhookEvent } from '../../src/outbox/outbox.js';
import type { Deliver } from './deliver.js';
import { messageOf } from './message.js';
import { askedWait } from './schedule.js';

/** The result of one delivery. `status` is 0 if there was no answer. */
export type TellingResult = { readonly delivered: true; readonly status: number } | Failure;

export interface Failure {
  readonly delivered: false;
  readonly status: number;
  readonly askedMs: number;
  readonly cause?: unknown;
}

/** The status of an endpoint that never wants an event again. */
export const GONE = 410;
export const DISABLED = 'It is told nothing more. Repair it and rotate its secret, or remove it.';
export const SKIPPED = 'It is told what comes after it. See why it does not accept this one.';

/** Delivers an event to an endpoint, once and now. Never rejects. */
export async function deliverOnce(
  deliver: Deliver,
  endpoint: Endpoint,
  event: WebhookEvent,
  runtime: Runtime,
  stopped: AbortSignal,
): Promise<TellingResult> {
  try {
    const message = messageOf(endpoint, event, runtime.now());
    const { status, retryAfter } = await deliver(message, stopped);
    if (status >= 200 && status < 300) return { delivered: true, status };
    return { delivered: false, status, askedMs: askedWait(status, retryAfter, runtime.now()) };
  } catch (cause) {
    return { delivered: false, status: 0, askedMs: 0, cause };
  }
}

/**
 * Returns the error for an event that is given up. It holds neither the endpoint's address, which
 * may contain a token, nor text of its answers.
 */
export function givenUpError(
  { event, endpoint = '' }: OutboxJob,
  tries: number,
  { status, ...rest }: Failure,
  follows: string,
): TransportError {
  const why = status === GONE ? 'says that it is gone' : `failed ${tries} times`;
  const cause = 'cause' in rest ? { cause: rest.cause } : {};
  const message = `The endpoint ${endpoint} ${why}, so it is not told of ${event.id}. ${follows}`;
  return new TransportError('service_unavailable', message, {
    details: { status },
    retry: 'never',
    ...cause,
  });
}
