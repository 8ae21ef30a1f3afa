import * as v from 'valibot';
import { address, count, name, upTo, webAddress } from './fields.js';
import type { Operation } from './operations.js';
import { webhookEvents, type WebhookEventName } from './webhook-events.js';

const MAX_WALLETS = 100;
// In escapes an address is longer than it was written.
const MAX_ESCAPED = 65_536;

const event = v.picklist(webhookEvents, `must be one of ${webhookEvents.join(', ')}.`);
const id = { id: name };

/** Where events are to be told. */
export const webhookRequest = v.strictObject(
  {
    // Whether it may be told, as an https: address of the outside may, is for the registry to say.
    url: webAddress,
    events: v.pipe(
      v.array(event, 'must be a list of names of events.'),
      v.minLength(1, 'must name at least one event.'),
      v.maxLength(webhookEvents.length, 'must name each event once.'),
    ),
    wallets: v.exactOptional(
      v.pipe(
        v.array(address, 'must be a list of base58 addresses.'),
        v.minLength(1, 'must name at least one wallet. Leave it out for all.'),
        v.maxLength(MAX_WALLETS, `must name at most ${MAX_WALLETS} wallets.`),
      ),
    ),
  },
  'must be an object.',
);

/** Which endpoint. */
export const webhookOfId = v.strictObject(id, 'must be an object.');

const events: v.GenericSchema<unknown, readonly WebhookEventName[]> = v.array(
  event,
  'must be a list of names of events.',
);
const wallets: v.GenericSchema<unknown, readonly string[]> = v.array(
  address,
  'must be a list of base58 addresses.',
);

const endpointFields = {
  ...id,
  url: upTo(MAX_ESCAPED),
  events,
  wallets: v.exactOptional(wallets),
  createdAt: count,
  disabledAt: v.exactOptional(count),
};

/** An endpoint as it is listed: what is not named here, a secret above all, is left out. */
export const webhookEndpoint = v.object(endpointFields, 'must be an endpoint.');

const SECRET = 'must be a secret of Standard Webhooks.';
/** An endpoint whose secret is shown, which is once. */
export const newWebhookEndpoint = v.object(
  {
    ...endpointFields,
    secret: v.pipe(v.string(SECRET), v.regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, SECRET)),
  },
  'must be an endpoint and its secret.',
);

const operation = <Q, A>(one: Operation<Q, A>): Operation<Q, A> => one;

const PATH = '/api/webhooks';
const QUERY = { lists: [], numbers: [] };

/** By operation id: what a service that tells of events serves besides. */
export const webhookOperations = {
  listWebhooks: operation({
    method: 'GET',
    path: PATH,
    query: QUERY,
    request: v.strictObject({}, 'must be an object.'),
    response: v.array(webhookEndpoint, 'must be a list of endpoints.'),
  }),
  registerWebhook: operation({
    method: 'POST',
    path: PATH,
    request: webhookRequest,
    response: newWebhookEndpoint,
  }),
  removeWebhook: operation({
    method: 'DELETE',
    path: PATH,
    query: QUERY,
    request: webhookOfId,
    response: v.object({ removed: v.literal(true) }),
  }),
  rotateWebhook: operation({
    method: 'POST',
    path: `${PATH}/rotate`,
    request: webhookOfId,
    response: newWebhookEndpoint,
  }),
};

export type WebhookOperationId = keyof typeof webhookOperations;
