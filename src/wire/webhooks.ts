import * as v from 'valibot';
import { address, count, name, textUpTo, webAddress } from './fields.js';
import { operation } from './operations.js';
import { webhookEvents, type WebhookEventName } from './webhook-events.js';

const MAX_WALLETS = 100;
// A url becomes longer when it is escaped.
const MAX_ESCAPED = 65_536;

const event = v.picklist(webhookEvents, `must be one of ${webhookEvents.join(', ')}.`);
const id = { id: name };

export const webhookRequest = v.strictObject(
  {
    // The registry decides whether events may be sent to the url, such as a public https: address.
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
  url: textUpTo(MAX_ESCAPED),
  events,
  wallets: v.exactOptional(wallets),
  createdAt: count,
  disabledAt: v.exactOptional(count),
};

/** An endpoint in a list. Fields that are not named here are left out, above all the secret. */
export const webhookEndpoint = v.object(endpointFields, 'must be an endpoint.');

const SECRET = 'must be a secret of Standard Webhooks.';
/** A new endpoint with its secret, which is shown only once. */
export const newWebhookEndpoint = v.object(
  {
    ...endpointFields,
    secret: v.pipe(v.string(SECRET), v.regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, SECRET)),
  },
  'must be an endpoint and its secret.',
);

const PATH = '/api/webhooks';
const QUERY = { lists: [], numbers: [] };

/** Further operations by id, which only a service with webhooks serves. */
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
