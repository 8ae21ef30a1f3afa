import { randomBytes, randomUUID } from 'node:crypto';
import { ConfigError } from 'exact-change';
import type {
  NewWebhookEndpoint,
  WebhookEndpoint,
  WebhookRegistry,
} from '../../../adapters/webhooks/types.js';

/** Makes a registry that keeps endpoints per caller and delivers nothing. */
export function fakeRegistry(): WebhookRegistry {
  const kept = new Map<
    string,
    { readonly caller: string; readonly endpoint: NewWebhookEndpoint }
  >();
  const secret = () => `whsec_${randomBytes(32).toString('base64')}`;
  const of = (id: string, caller = '') =>
    kept.get(id)?.caller === caller ? kept.get(id)?.endpoint : undefined;
  return {
    async register({ url, events, wallets }, caller = '') {
      const { href, protocol } = new URL(url);
      if (protocol !== 'https:') {
        throw new ConfigError('invalid_option', 'Option url must start with https://.', {
          details: { option: 'url' },
        });
      }
      const endpoint = {
        id: randomUUID(),
        url: href,
        events,
        ...(wallets === undefined ? {} : { wallets }),
        createdAt: 5,
        secret: secret(),
      };
      kept.set(endpoint.id, { caller, endpoint });
      return endpoint;
    },
    // The list includes secrets, because the handler must remove them.
    list: async (caller = ''): Promise<WebhookEndpoint[]> =>
      [...kept.values()].flatMap((entry) => (entry.caller === caller ? [entry.endpoint] : [])),
    async rotate(id, caller = '') {
      const before = of(id, caller);
      if (before === undefined) return undefined;
      const endpoint = { ...before, secret: secret() };
      kept.set(id, { caller, endpoint });
      return endpoint;
    },
    remove: async (id, caller = '') => of(id, caller) !== undefined && kept.delete(id),
  };
}
