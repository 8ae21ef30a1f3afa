import { stat } from 'node:fs/promises';
import { createClient, type CapUse, type Client, type ClientOptions } from 'exact-change';
import type { FileJournal } from 'exact-change/journal/file';
import type { WebhookDelivery } from 'exact-change/webhooks';
import { readAssets } from './assets.js';
import { createChanges } from './changes.js';
import { createDashboard, PLACE } from './dashboard.js';
import { createJournalView } from './journal-view.js';
import { createSessions } from './sessions.js';
import type { EndpointRow } from './shown.js';

export interface UiOptions {
  readonly journal: FileJournal;
  /** Of the file. */
  readonly path: string;
  /** What caps are reckoned by: those of the settings. */
  readonly client: Omit<ClientOptions, 'signer' | 'walletSecretKey' | 'walletSeed'>;
  /** The wallet of the settings, if there is one. */
  readonly wallet: string | undefined;
  readonly authorize: (request: Request) => boolean;
  readonly onError: (error: unknown) => void;
}

/** The page of a service that runs. */
export interface Ui {
  /** Undefined of a request that is for the service. */
  readonly handle: (request: Request) => Promise<Response> | undefined;
  readonly onDelivery: (delivery: WebhookDelivery) => void;
  /** An address that opens it once, at a service's own. */
  link(service: string): string;
  close(): Promise<void>;
}

const MOST_DELIVERIES = 100;

export async function startUi(options: UiOptions): Promise<Ui> {
  const { journal, path, wallet, authorize, onError } = options;
  const now = () => Date.now();
  const sessions = createSessions(now);
  const caps = capsReader(options);
  const deliveries: WebhookDelivery[] = [];
  const stamp = () => stampOf(path);
  const changes = createChanges(stamp);
  const view = createJournalView(journal, stamp, now);
  // A journal of years takes a moment: less of it is left when the page asks.
  view.refresh().catch(onError);
  return {
    handle: createDashboard({
      ...{ view, sessions, changes, authorize, onError, own: wallet },
      assets: await readAssets(),
      more: async (about) => ({
        caps: await caps.of(about),
        endpoints: await endpointRows(journal),
        deliveries: [...deliveries].reverse(),
      }),
    }),
    onDelivery(delivery) {
      deliveries.push(delivery);
      if (deliveries.length > MOST_DELIVERIES) deliveries.shift();
    },
    // After the #, a browser sends it nowhere, and the page takes it out of its history.
    link: (service) => `${service}${PLACE}#${sessions.newCode()}`,
    async close() {
      changes.close();
      await caps.close();
    },
  };
}

/** Another file in its place, or another length, is news. */
async function stampOf(path: string): Promise<string> {
  const { ino, size } = await stat(path).catch(() => ({ ino: 0, size: 0 }));
  return `${ino}:${size}`;
}

/** What is used of the caps of a wallet, by a client of its own that can sign nothing. */
function capsReader({ client: options, journal }: UiOptions) {
  const clients = new Map<string, Client>();
  const clientOf = (address: string): Client => {
    const client =
      clients.get(address) ??
      createClient({ ...options, journal, signer: { address, signMessage: refuseToSign } });
    clients.set(address, client);
    return client;
  };
  return {
    of: async (address: string | undefined): Promise<CapUse[]> =>
      address === undefined ? [] : clientOf(address).spent(),
    close: async () =>
      void (await Promise.all([...clients.values()].map((client) => client.close()))),
  };
}

function refuseToSign(): Promise<never> {
  return Promise.reject(new Error('This page signs nothing.'));
}

async function endpointRows({ outbox }: FileJournal): Promise<EndpointRow[]> {
  if (outbox === undefined) return [];
  const [endpoints, jobs = []] = await Promise.all([outbox.endpoints(), outbox.waiting?.()]);
  return endpoints.map(({ id, url, events, createdAt, acceptedAt, disabledAt }) => {
    const own = jobs.filter(({ endpoint }) => endpoint === id);
    return {
      ...{ id, place: new URL(url).origin, events, createdAt },
      ...(acceptedAt === undefined ? {} : { acceptedAt }),
      ...(disabledAt === undefined ? {} : { disabledAt }),
      waiting: own.length,
      failures: Math.max(0, ...own.map(({ failures }) => failures)),
      ...(own.length === 0 ? {} : { nextAt: Math.min(...own.map(({ dueAt }) => dueAt)) }),
    };
  });
}
