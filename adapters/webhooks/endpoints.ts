import type { Runtime } from '../../src/internal/runtime.js';
import type { Endpoint, Outbox, WebhookEvent } from '../../src/outbox/outbox.js';

/** The endpoints of an outbox, for the parts that change and that tell them. */
export interface Endpoints {
  /** By their ids, as they were at most a second ago, and after every change of this process. */
  all(): Promise<EndpointsById>;
  /** As they are now: what an older answer lacks, another process may have registered since. */
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
      list: outbox.endpoints().then((all) => new Map(all.map((one) => [one.id, one]))),
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

/** Whether an endpoint is to be told of an event. */
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
