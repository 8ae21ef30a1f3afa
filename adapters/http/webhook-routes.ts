import { throwIfAborted } from '../../src/deadline.js';
import { PolicyError } from '../../src/errors.js';
import { isAddress } from '../../src/solana/address.js';
import { webhookOperations } from '../../src/wire/webhooks.js';
import type { WebhookRegistry } from '../webhooks/types.js';
import { RequestRefusal } from './refusal.js';
import { route, type Asked, type Route } from './route.js';

/** Who registers webhooks, as the service knows its callers. */
export interface WebhookCaller {
  /** The same for all requests of one caller, 1 to 256 characters: it sees and changes only what it registered under this. */
  readonly id: string;
  /**
   * Whose events the endpoints that it registers may hear of; default: anybody's. What it registered before keeps its wallets, so remove that where they
   * are taken from a caller.
   */
  readonly wallets?: readonly string[] | undefined;
}

export type CallerOf = (request: Request) => WebhookCaller | undefined | Promise<WebhookCaller | undefined>;

const MAX_ID = 256;
/** Whoever uses the registry itself. No hook gives this id: a header that is missing is soon an empty one, and would be let in as the operator. */
const OPERATOR: WebhookCaller = { id: '' };

/** What a service serves over its registry. */
export function webhookRoutes(registry: WebhookRegistry, callerOf: CallerOf | undefined): readonly Route[] {
  return [
    route(webhookOperations.listWebhooks, async (_, asked) => {
      const { id: caller } = await callerBehind(asked, callerOf);
      return registry.list(caller);
    }),
    route(webhookOperations.registerWebhook, async ({ url, events, wallets }, asked) => {
      const caller = await callerBehind(asked, callerOf);
      return registry.register({ url, events, wallets: walletsFor(caller, wallets) }, caller.id);
    }),
    route(webhookOperations.removeWebhook, async ({ id }, asked) => {
      const { id: caller } = await callerBehind(asked, callerOf);
      if (!(await registry.remove(id, caller))) throw noEndpoint();
      return { removed: true };
    }),
    route(webhookOperations.rotateWebhook, async ({ id }, asked) => {
      const { id: caller } = await callerBehind(asked, callerOf);
      const rotated = await registry.rotate(id, caller);
      if (rotated === undefined) throw noEndpoint();
      return rotated;
    }),
  ];
}

/** A hook that gives anything but a caller lets nobody in: all who are taken for one would share what each registers. */
async function callerBehind({ request, signal }: Asked, callerOf: CallerOf | undefined): Promise<WebhookCaller> {
  if (callerOf === undefined) return OPERATOR;
  const given: unknown = await callerOf(request);
  // Nothing is registered for somebody who has been told that there was no answer.
  throwIfAborted(signal);
  if (given === undefined)
    throw new RequestRefusal('unauthorized', 'This service does not know who asks. Send the key that its operator gave you.');
  if (!isCaller(given))
    throw new TypeError('callerOf has to give an id of 1 to 256 characters, and wallets as base58 addresses where it names any.');
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

/** The wallets that an endpoint hears of: those that are asked for, as far as the caller may. Undefined is any. */
function walletsFor({ wallets: allowed }: WebhookCaller, asked: readonly string[] | undefined): readonly string[] | undefined {
  if (allowed === undefined) return asked;
  const wallets = asked ?? allowed;
  const foreign = wallets.find((wallet) => !allowed.includes(wallet));
  // To a registry none is as good as any.
  if (foreign === undefined && wallets.length > 0) return wallets;
  const message = 'This caller may not hear of that wallet. Name those of yours, or leave wallets out for all of them.';
  throw new PolicyError('not_allowed', message, { details: { list: 'wallets', value: foreign ?? '' } });
}

function noEndpoint(): RequestRefusal {
  return new RequestRefusal('not_found', 'There is no such endpoint of this caller. See GET /api/webhooks for those that there are.');
}
