import { hex } from '../../src/internal/bytes.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import type { Runtime } from '../../src/internal/runtime.js';
import { webhookEvents } from '../../src/outbox/outbox.js';
import type { Endpoint, EndpointSecret, WebhookEventName } from '../../src/outbox/outbox.js';
import { readAddress, readList } from '../../src/policy/read.js';
import type { Endpoints } from './endpoints.js';
import { isRecord } from '../../src/internal/record.js';
import { isEventName } from './event.js';
import type { WebhooksSettings } from './options.js';
import { secretOf } from './signature.js';
import { readTarget, type TargetRules } from './target.js';
import type {
  NewWebhookEndpoint,
  WebhookEndpoint,
  WebhookRegistry,
  WebhookRequest,
} from './types.js';

export interface RegistryParts extends Pick<WebhooksSettings, 'outbox' | 'rules'> {
  readonly endpoints: Endpoints;
  readonly runtime: Runtime;
}

const NAMES: readonly string[] = ['url', 'events', 'wallets'];
const MAX_ENDPOINTS = 100;
/**
 * More than a request to a service can name: the service names all wallets of a caller. All
 * endpoints are read each second while there are events, and 100 with so many wallets take 5 MB.
 */
const MAX_WALLETS = 1_000;
const MAX_CALLER = 256;
const ID_BYTES = 16;
const KEY_BYTES = 32;
const OVERLAP_MS = 24 * 60 * 60_000;
/**
 * The most old secrets that still sign. The receiver of a caller that rotates more often in a day
 * learns new secrets faster than the overlap ends.
 */
const MAX_OLD_SECRETS = 3;

/** Returns the registry of endpoints in an outbox. */
export function registryOf({ outbox, endpoints, runtime, rules }: RegistryParts): WebhookRegistry {
  const newSecret = (): EndpointSecret => ({ secret: secretOf(runtime.randomBytes(KEY_BYTES)) });
  return {
    async register(request, caller = '') {
      const wanted = readRequest(request, rules);
      readCaller(caller);
      const id = `we_${hex.encode(runtime.randomBytes(ID_BYTES))}`;
      const endpoint = { id, ...wanted, caller, secrets: [newSecret()], createdAt: runtime.now() };
      if (await endpoints.add(endpoint, MAX_ENDPOINTS)) return withSecret(endpoint);
      throw refuse('url', `would be one endpoint too many: remove one of ${MAX_ENDPOINTS} first.`);
    },
    async list(caller = '') {
      readCaller(caller);
      return (await outbox.endpoints()).filter((endpoint) => endpoint.caller === caller).map(shown);
    },
    async rotate(id, caller = '') {
      readCaller(caller);
      const [secret, now] = [newSecret(), runtime.now()];
      const rotated = await endpoints.change(id, (endpoint) => {
        const { disabledAt: _, ...rest } = endpoint;
        return endpoint.caller === caller
          ? { ...rest, secrets: [secret, ...overlapping(endpoint, now)] }
          : undefined;
      });
      return rotated && withSecret(rotated);
    },
    async remove(id, caller = '') {
      readCaller(caller);
      const registered = await outbox.endpoints();
      // The caller of an endpoint never changes, so check and removal need no transaction.
      return (
        registered.some((endpoint) => endpoint.id === id && endpoint.caller === caller) &&
        endpoints.remove(id)
      );
    },
  };
}

function overlapping({ secrets }: Endpoint, now: number): EndpointSecret[] {
  return secrets
    .filter(({ until }) => until === undefined || until > now)
    .map(({ secret, until = now + OVERLAP_MS }) => ({ secret, until }))
    .slice(0, MAX_OLD_SECRETS);
}

/** Returns an endpoint without its secrets and its caller. */
function shown({ id, url, events, wallets, createdAt, disabledAt }: Endpoint): WebhookEndpoint {
  return {
    id,
    url,
    events,
    createdAt,
    ...(wallets === undefined ? {} : { wallets }),
    ...(disabledAt === undefined ? {} : { disabledAt }),
  };
}

function withSecret(endpoint: Endpoint): NewWebhookEndpoint {
  return { ...shown(endpoint), secret: endpoint.secrets[0]?.secret ?? '' };
}

function readRequest(
  request: WebhookRequest,
  rules: TargetRules,
): Pick<Endpoint, 'url' | 'events' | 'wallets'> {
  if (!isRecord(request)) throw refuse('request', 'must be an object.');
  refuseUnknown(request, NAMES);
  const { href } = readTarget(request.url, rules);
  const events = readList('events', request.events, readEventName);
  if (events.length === 0) throw refuse('events', 'must name at least one event.');
  const common = { url: href, events: unique(events) };
  if (request.wallets === undefined) return common;
  const wallets = unique(
    readList('wallets', request.wallets, (option, wallet) => readAddress(option, wallet)),
  );
  if (wallets.length === 0)
    throw refuse('wallets', 'must name at least one wallet. Leave it out for all.');
  if (wallets.length > MAX_WALLETS)
    throw refuse(
      'wallets',
      `must name at most ${MAX_WALLETS} wallets. Register several endpoints, each for some of them.`,
    );
  return { ...common, wallets };
}

function readEventName(option: string, name: unknown): WebhookEventName {
  if (!isEventName(name)) throw refuse(option, `must be one of ${webhookEvents.join(', ')}.`);
  return name;
}

function readCaller(caller: unknown): void {
  if (typeof caller !== 'string' || caller.length > MAX_CALLER)
    throw refuse('caller', `must be text of at most ${MAX_CALLER} characters.`);
}

function unique<T>(list: readonly T[]): T[] {
  return [...new Set(list)];
}
