import { sha256 } from '../../src/internal/sha2.js';
import { hex } from '../../src/internal/bytes.js';
import { throwIfAborted } from '../../src/internal/abort.js';
import { isAddress } from '../../src/solana/address.js';
import { unknownCaller } from './refusal.js';
import type { AdmittedRequest } from './route.js';

/** A caller, as the service knows it. */
export interface WebhookCaller {
  /**
   * 1 to 256 characters, the same for all requests of one caller. The caller sees and changes only
   * the webhooks that it registered under this id, and its idempotency keys are its own.
   */
  readonly id: string;
  /**
   * Wallets with events that the caller's endpoints may hear of; default: all wallets. Endpoints
   * keep the wallets that they were registered with, so remove them if you take a wallet away. A
   * caller with more than 1000 wallets has to name those of each endpoint.
   */
  readonly wallets?: readonly string[] | undefined;
}

export type CallerOf = (
  request: Request,
) => WebhookCaller | undefined | Promise<WebhookCaller | undefined>;

const MAX_ID = 256;
/**
 * The caller of the registry itself, and of a service without `callerOf`. A hook may not return
 * this id: a missing header easily becomes an empty string, and would be let in as the operator.
 */
const OPERATOR: WebhookCaller = { id: '' };

/**
 * Returns the caller of a request. Throws if the hook returns anything but a caller, because callers
 * that are taken for the same caller would share their webhooks.
 */
export async function callerOfRequest(
  { request, signal }: AdmittedRequest,
  callerOf: CallerOf | undefined,
): Promise<WebhookCaller> {
  if (callerOf === undefined) return OPERATOR;
  const caller: unknown = await callerOf(request);
  // Register nothing after the deadline, because the caller was told that there is no answer.
  throwIfAborted(signal);
  if (caller === undefined) throw unknownCaller();
  if (!isCaller(caller))
    throw new TypeError(
      'callerOf has to give an id of 1 to 256 characters, and wallets as base58 addresses if it names any.',
    );
  return caller;
}

function isCaller(value: unknown): value is WebhookCaller {
  if (typeof value !== 'object' || value === null) return false;
  const { id, wallets }: { id?: unknown; wallets?: unknown } = value;
  return (
    typeof id === 'string' &&
    id !== '' &&
    id.length <= MAX_ID &&
    (wallets === undefined || (Array.isArray(wallets) && wallets.every(isAddress)))
  );
}

/**
 * Returns an idempotency key that is the caller's own: the same key from another caller is another
 * purchase.
 */
export function keyOf({ id }: WebhookCaller, key: string): string {
  return id === OPERATOR.id
    ? key
    : hex.encode(sha256(new TextEncoder().encode(JSON.stringify([id, key]))));
}
