import { stat } from 'node:fs/promises';
import { createClient, type CapUse, type Client, type ClientOptions } from 'exact-change';
import type { FileJournal } from 'exact-change/journal/file';
import type { WebhookDelivery } from 'exact-change/webhooks';
import { readOnlySigner } from '../wallet.js';
import { readAssets } from './assets.js';
import { createChanges } from './changes.js';
import { createDashboard, PLACE } from './dashboard.js';
import { createJournalView } from './journal-view.js';
import { createSessions } from './sessions.js';
import type { EndpointRow } from './shown.js';

export interface UiOptions {
  readonly journal: FileJournal;
  /** Path of the journal's file. */
  readonly path: string;
  /** Client options of the settings, to compute the caps. */
  readonly client: Omit<ClientOptions, 'signer' | 'walletSecretKey' | 'walletSeed'>;
  /** The wallet of the settings, if there is one. */
  readonly wallet: string | undefined;
  readonly authorize: (request: Request) => boolean;
  readonly onError: (error: unknown) => void;
}

/** The page of a running service. */
export interface Ui {
  /** Answers a request for the page. Returns undefined for a request to the service. */
  readonly handle: (request: Request) => Promise<Response> | undefined;
  readonly onDelivery: (delivery: WebhookDelivery) => void;
  /** Returns a link that opens the page once, at the service's URL. */
  link(service: string): string;
  close(): Promise<void>;
}

const MOST_DELIVERIES = 100;

export async function startUi(options: UiOptions): Promise<Ui> {
  const { journal, path, wallet, authorize, onError } = options;
  const now = () => Date.now();
  const sessions = createSessions(now);
  const caps = capsReader({ ...options.client, journal });
  const deliveries: WebhookDelivery[] = [];
  const stamp = () => stampOf(path);
  const changes = createChanges(stamp);
  const view = createJournalView(journal, stamp, now);
  // Begin to read the journal now, because a large journal takes a moment.
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
    // A browser sends the part after `#` nowhere, and the page removes it from the history.
    link: (service) => `${service}${PLACE}#${sessions.newCode()}`,
    async close() {
      changes.close();
      await caps.close();
    },
  };
}

/** Returns text that changes if the file grows or is replaced. */
async function stampOf(path: string): Promise<string> {
  const { ino, size } = await stat(path).catch(() => ({ ino: 0, size: 0 }));
  return `${ino}:${size}`;
}

/** Returns a reader of the caps' use of each wallet. It uses clients that cannot sign. */
export function capsReader(options: UiOptions['client']) {
  const clients = new Map<string, Client>();
  const clientOf = (address: string): Client => {
    const client =
      clients.get(address) ??
      createClient({
        // Without swaps, a policy with a top-up is refused. This client makes no swap.
        ...options,
        autoSwap: true,
        signer: readOnlySigner(address),
      });
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

async function endpointRows({ outbox }: FileJournal): Promise<EndpointRow[]> {
  if (outbox === undefined) return [];
  const [endpoints, jobs = []] = await Promise.all([outbox.endpoints(), outbox.waiting?.()]);
  return endpoints.map(({ id, url, events, createdAt, acceptedAt, disabledAt }) => {
    const waiting = jobs.filter(({ endpoint }) => endpoint === id);
    return {
      ...{ id, place: new URL(url).origin, events, createdAt },
      ...(acceptedAt === undefined ? {} : { acceptedAt }),
      ...(disabledAt === undefined ? {} : { disabledAt }),
      waiting: waiting.length,
      failures: Math.max(0, ...waiting.map(({ failures }) => failures)),
      ...(waiting.length === 0 ? {} : { nextAt: Math.min(...waiting.map(({ dueAt }) => dueAt)) }),
    };
  });
}
