import { sha256 } from '../../src/internal/sha2.js';
import { hex } from '../../src/internal/bytes.js';
import { throwIfAborted } from '../../src/internal/abort.js';
import { isAddress } from '../../src/solana/address.js';
import { RequestRefusal } from './refusal.js';
import type { Asked } from './route.js';

/** A caller of a service, as it knows its callers. */
export interface WebhookCaller {
  /**
   * The same for all requests of one caller, 1 to 256 characters: it sees and changes only the
   * webhooks that it registered under this, and its idempotency keys are its own.
   */
  readonly id: string;
  /**
   * Whose events the endpoints that it registers may hear of; default: those of all wallets. What
   * it registered before keeps its wallets, so remove that if they are taken from a caller.
   */
  readonly wallets?: readonly string[] | undefined;
}

export type CallerOf = (
  request: Request,
) => WebhookCaller | undefined | Promise<WebhookCaller | undefined>;

const MAX_ID = 256;
/**
 * The user of the registry itself, and of a service whose callers are one. No hook gives this id: a
 * header that is missing is soon an empty one, and would be let in as the operator.
 */
const OPERATOR: WebhookCaller = { id: '' };

/**
 * A hook that gives anything but a caller lets no request in: all that are taken for one would
 * share what each registers.
 */
export async function callerBehind(
  { request, signal }: Asked,
  callerOf: CallerOf | undefined,
): Promise<WebhookCaller> {
  if (callerOf === undefined) return OPERATOR;
  const given: unknown = await callerOf(request);
  // Nothing is registered for a caller that has been told that there was no answer.
  throwIfAborted(signal);
  if (given === undefined)
    throw new RequestRefusal(
      'unauthorized',
      'This service does not know the caller. Send the key that its operator gave you.',
    );
  if (!isCaller(given))
    throw new TypeError(
      'callerOf has to give an id of 1 to 256 characters, and wallets as base58 addresses if it names any.',
    );
  return given;
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
 * An idempotency key as a caller's own: what another caller writes under the same key is another
 * purchase.
 */
export function keyOf({ id }: WebhookCaller, key: string): string {
  return id === OPERATOR.id
    ? key
    : hex.encode(sha256(new TextEncoder().encode(JSON.stringify([id, key]))));
}
