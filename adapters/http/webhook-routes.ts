import { PolicyError } from '../../src/errors.js';
import { webhookOperations } from '../../src/wire/webhooks.js';
import type { WebhookRegistry } from '../webhooks/types.js';
import { callerOfRequest, type CallerOf, type WebhookCaller } from './caller.js';
import { RequestRefusal } from './refusal.js';
import { route, type Route } from './route.js';

/** Creates the routes of a service over its registry of webhooks. */
export function webhookRoutes(
  registry: WebhookRegistry,
  callerOf: CallerOf | undefined,
): readonly Route[] {
  return [
    route(webhookOperations.listWebhooks, async (_, admitted) => {
      const { id: caller } = await callerOfRequest(admitted, callerOf);
      return registry.list(caller);
    }),
    route(webhookOperations.registerWebhook, async ({ url, events, wallets }, admitted) => {
      const caller = await callerOfRequest(admitted, callerOf);
      return registry.register({ url, events, wallets: walletsFor(caller, wallets) }, caller.id);
    }),
    route(webhookOperations.removeWebhook, async ({ id }, admitted) => {
      const { id: caller } = await callerOfRequest(admitted, callerOf);
      if (!(await registry.remove(id, caller))) throw noEndpoint();
      return { removed: true };
    }),
    route(webhookOperations.rotateWebhook, async ({ id }, admitted) => {
      const { id: caller } = await callerOfRequest(admitted, callerOf);
      const rotated = await registry.rotate(id, caller);
      if (rotated === undefined) throw noEndpoint();
      return rotated;
    }),
  ];
}

/**
 * Returns the wallets with events that an endpoint receives; undefined for all wallets. Throws
 * `not_allowed` if the caller asks for a wallet that it may not use.
 */
function walletsFor(
  { wallets: allowed }: WebhookCaller,
  requested: readonly string[] | undefined,
): readonly string[] | undefined {
  if (allowed === undefined) return requested;
  const wallets = requested ?? allowed;
  const foreign = requested?.find((wallet) => !allowed.includes(wallet));
  // Refuse an empty list too, because a registry may take it for all wallets.
  if (foreign === undefined && wallets.length > 0) return wallets;
  const message =
    'This caller may not hear of that wallet. Name those of yours, or leave wallets out for all of them.';
  throw new PolicyError('not_allowed', message, {
    details: { list: 'wallets', value: foreign ?? '' },
  });
}

function noEndpoint(): RequestRefusal {
  return new RequestRefusal(
    'not_found',
    'There is no such endpoint of this caller. See GET /api/webhooks for those that there are.',
  );
}
