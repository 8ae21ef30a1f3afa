import type { Runtime } from '../../src/internal/runtime.js';
import type { Endpoint, Outbox, WebhookEvent } from '../../src/outbox/outbox.js';

/** The endpoints of an outbox, with a short cache. */
export interface Endpoints {
  /** Returns the endpoints by id, at most a second old and with all changes of this process. */
  all(): Promise<EndpointsById>;
  /** Returns the current endpoints, also if another process has just registered an endpoint. */
  now(): Promise<EndpointsById>;
  add: Outbox['addEndpoint'];
  change: Outbox['changeEndpoint'];
  remove: Outbox['removeEndpoint'];
}

type EndpointsById = ReadonlyMap<string, Endpoint>;

const FRESH_MS = 1_000;

export function endpointsOf(outbox: Outbox, runtime: Runtime): Endpoints {
  let known: { readonly at: number; readonly list: Promise<EndpointsById> } | undefined;
  const isFresh = (at: number) => runtime.now() >= at && runtime.now() - at < FRESH_MS;
  const forgetAfter = <T>(work: Promise<T>): Promise<T> =>
    work.finally(() => {
      known = undefined;
    });
  const read = () => {
    const next = {
      at: runtime.now(),
      list: outbox
        .endpoints()
        .then((endpoints) => new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))),
    };
    known = next;
    next.list.catch(() => {
      if (known === next) known = undefined;
    });
    return next.list;
  };
  return {
    all: () => (known !== undefined && isFresh(known.at) ? known.list : read()),
    now: read,
    add: (endpoint, most) => forgetAfter(outbox.addEndpoint(endpoint, most)),
    change: (id, change) => forgetAfter(outbox.changeEndpoint(id, change)),
    remove: (id) => forgetAfter(outbox.removeEndpoint(id)),
  };
}

/** Whether an endpoint wants an event. */
export function wants(
  { disabledAt, events, wallets }: Endpoint,
  { type, data }: WebhookEvent,
): boolean {
  return (
    disabledAt === undefined &&
    events.includes(type) &&
    (wallets === undefined || wallets.includes(data.wallet))
  );
}
