import type { Endpoint, Outbox, WebhookEvent } from '../../src/journal/outbox.js';
import type { Runtime } from '../../src/runtime.js';

/** The endpoints of an outbox, for who changes and who tells them. */
export interface Endpoints {
  /** As they were at most a second ago, and after every change of this process. */
  all(): Promise<readonly Endpoint[]>;
  /** One change at a time, each of what is there now: none undoes another of this process. */
  change<T>(work: (endpoints: readonly Endpoint[]) => Promise<T>): Promise<T>;
}

const FRESH_MS = 1_000;

export function endpointsOf(outbox: Outbox, runtime: Runtime): Endpoints {
  let known: { readonly at: number; readonly list: Promise<readonly Endpoint[]> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const isFresh = (at: number) => runtime.now() >= at && runtime.now() - at < FRESH_MS;
  return {
    all() {
      if (known === undefined || !isFresh(known.at)) {
        const next = { at: runtime.now(), list: outbox.endpoints() };
        known = next;
        next.list.catch(() => {
          if (known === next) known = undefined;
        });
      }
      return known.list;
    },
    change(work) {
      const done = last.then(async () => {
        try {
          return await work(await outbox.endpoints());
        } finally {
          known = undefined;
        }
      });
      last = done.catch(() => undefined);
      return done;
    },
  };
}

/** Whether an endpoint is to be told of an event. */
export function wants({ disabledAt, events, wallets }: Endpoint, { type, data }: WebhookEvent): boolean {
  return disabledAt === undefined && events.includes(type) && (wallets === undefined || wallets.includes(data.wallet));
}
