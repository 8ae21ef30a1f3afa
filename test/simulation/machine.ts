import {
  createClient,
  local,
  memoryJournal,
  type Client,
  type Journal,
  type LocalTransport,
  type Plan as Approved,
  type SigningIntent,
} from '../../src/index.js';
import { journalAt } from '../../adapters/journals/file/journal.js';
import { knownWallet } from '../../src/journal/registry.js';
import { fakeProcesses, MemoryDisk } from '../helpers/memory-disk.js';
import { processState } from '../helpers/process-state.js';
import { JUPITER_KEY } from './keys.js';
import { NETWORK, signAsWallet, WALLET } from './places.js';
import { hostOf, isSeller, itemOf, policyOf } from './plan.js';
import { through } from './ports.js';
import { addressOf } from './wire.js';
import { JUPITER_URL, NODE_URLS, RELAYER_URL, SERVICE_URL, type World } from './world.js';
import type { Served } from './seller.js';
import { createService } from './service.js';
import { paymentIn, readHeader } from './traffic.js';

/** A message that the wallet signed for the library. */
export interface Signed {
  readonly signature: string;
  readonly message: Uint8Array;
  readonly intent: SigningIntent;
  readonly at: number;
  readonly order: object | undefined;
}

/**
 * A simulated process that runs the library. It can be killed at any of its outside calls, and
 * started again with the same journal.
 */
export interface Machine {
  /** Returns the clients; undefined while the process is down. */
  clients(): readonly Client[] | undefined;
  service(): LocalTransport | undefined;
  /** Resolves when the current process has ended. */
  ended(): Promise<void>;
  start(): void;
  /** Ends the process now, or at the given number of outside calls from now. */
  kill(calls: number, power: boolean, ended: () => void): void;
  /** Returns true if a later outside call will end the process. */
  isDying(): boolean;
  /** Signs for a caller that uses the service. */
  sign(message: Uint8Array, intent: SigningIntent, about: Purchase): Uint8Array;
  readonly signed: readonly Signed[];
  /**
   * The purchase of each swap, by the swap's signature. Plans of two purchases may have the same
   * swap: then it is of the purchase whose step the service accepted.
   */
  readonly swapsOf: Map<string, Purchase>;
  /** Attempt of each payment, by the wallet's signature. */
  readonly paymentsOf: ReadonlyMap<string, string>;
  /** Items of paid answers that a running process read to their end. */
  readonly arrived: ReadonlySet<string>;
  /** Signatures of swaps that no cap counts. */
  readonly uncounted: Set<string>;
  /** Each sending of a payment, with the attempts that its process had told as settled before. */
  readonly sent: readonly { readonly signature: string; readonly settled: ReadonlySet<string> }[];
  /** Ids of all attempts in the clients' events. */
  readonly ids: ReadonlySet<string>;
  /** Returns the journal itself, without simulated faults. */
  journal(): Journal;
}

/** The attempt that a swap is for, with its host and payee as far as events tell. */
interface Purchase {
  readonly attempt: string;
  readonly host: string;
  readonly payee?: string | undefined;
}

/** Redirects that fetch follows at most. */
const MOST_HOPS = 20;

export function createMachine(world: World): Machine {
  const { plan, clock, trace } = world;
  const processes = fakeProcesses();
  const signed: Signed[] = [];
  const hosts = new Map<string, string>();
  const payees = new Map<string, string>();
  const swapsOf = new Map<string, Purchase>();
  const paymentsOf = new Map<string, string>();
  const arrived = new Set<string>();
  const ids = new Set<string>();
  const sent: { signature: string; settled: ReadonlySet<string> }[] = [];
  /** Times at which the current process told that an attempt had settled. */
  const told = new Map<string, number>();
  const uncounted = new Set<string>();
  const closings = plan.parts.filter((part) => part.kind === 'close');
  let disk = new MemoryDisk();
  let kept: Journal = memoryJournal();
  let life = 0;
  let isUp = false;
  let clients: Client[] = [];
  let service: LocalTransport | undefined;
  let remote: ReturnType<typeof createService>;
  let end: () => void = () => undefined;
  let ending: Promise<void> = Promise.resolve();
  let closeAny: (waits: boolean) => void = () => undefined;
  for (const { step, at, waits } of closings)
    if (step === undefined) world.upset(at, () => isUp && closeAny(waits));
  let dying: { calls: number; readonly end: () => void } | undefined;

  /**
   * Runs before each outside call of the process with a number. It never resolves if that process
   * has ended.
   */
  async function outside(id: number): Promise<void> {
    count(id);
    await whileRunning(id);
  }
  function count(id: number): void {
    if (id === life && dying !== undefined && (dying.calls -= 1) <= 0) dying.end();
  }
  const hasEnded = (id: number) => id !== life || !isUp;
  const whileRunning = (id: number) =>
    hasEnded(id) ? new Promise<never>(() => undefined) : Promise.resolve();

  async function request(
    id: number,
    input: RequestInfo | URL,
    init: RequestInit = {},
  ): Promise<Response> {
    await outside(id);
    const { signal } = init;
    if (signal?.aborted === true) throw signal.reason;
    const stopped = new Promise<never>((_, reject) => {
      const refuse = () =>
        reject(signal?.reason instanceof Error ? signal.reason : new TypeError('aborted'));
      // The listener stays, as in fetch, which removes it only at a garbage collection.
      signal?.addEventListener('abort', refuse, { once: true });
    });
    // If an answer comes first, this rejection is never awaited, so mark it as handled.
    stopped.catch(() => undefined);
    let url = new URL(input instanceof Request ? input.url : input);
    let { method = 'GET', body } = init;
    for (let hops = 0; hops <= MOST_HOPS; hops += 1) {
      const response = await Promise.race([
        answered(id, url, { ...init, method, body: body ?? null }),
        stopped,
      ]);
      const location = response.headers.get('location');
      if (location === null || init.redirect === 'manual')
        return hops === 0 ? response : Object.defineProperties(response, redirected(url));
      if (init.redirect === 'error') break;
      url = new URL(location, url);
      if (response.status === 302 && method === 'POST') [method, body] = ['GET', null];
    }
    throw new TypeError('fetch failed');
  }

  /** Resolves with the answer to a request. Rejects if the connection is lost. */
  async function answered(id: number, url: URL, init: RequestInit): Promise<Response> {
    const { method = 'GET', body } = init;
    const headers = new Headers(init.headers);
    if (isSeller(url)) world.traffic.comes(method, url, headers);
    const header = paymentIn(headers);
    if (header !== undefined) {
      const before = [...told].filter(([, at]) => at < clock.now()).map(([attempt]) => attempt);
      sent.push({ signature: readHeader(header).signature, settled: new Set(before) });
    }
    const watched = (response: Response) =>
      response.ok && header !== undefined
        ? atItsEnd(response, init.signal, () => {
            if (!hasEnded(id)) arrived.add(itemOf(url));
          })
        : response;
    const text = typeof body === 'string' ? body : '';
    const served: Served =
      url.origin === SERVICE_URL
        ? await remote(url, { method, body: text })
        : await world.serve(url, { method, headers, body: text });
    return new Promise<Response>((resolve, reject) => {
      if (served === 'hangs') return;
      const deliver = () => {
        if (id !== life || !isUp) return;
        // An answer counts as an outside call too, so that a process may end right before it.
        outside(id).then(
          () =>
            served === 'lost' || served.response === undefined
              ? reject(lost(url))
              : resolve(watched(served.response)),
          reject,
        );
      };
      clock.after(served === 'lost' ? 50 : served.ms, deliver);
    });
  }

  function sign(message: Uint8Array, intent: SigningIntent): Uint8Array {
    const signature = signAsWallet(message);
    const order = world.ordering.getStore();
    signed.push({ signature: addressOf(signature), message, intent, at: clock.now(), order });
    if (order?.counted === false) uncounted.add(addressOf(signature));
    return signature;
  }

  /** Returns the wallet's signature of a swap; a relayed swap has another id. */
  function signatureOf(id: string): string {
    const { asked } = world.relayer;
    const isIt = ({ message }: Signed) => asked.get(Buffer.from(message).toString('base64')) === id;
    return signed.find(isIt)?.signature ?? id;
  }

  function start(): void {
    life += 1;
    const id = life;
    told.clear();
    clock.startTimers();
    for (const name of processState()) Reflect.deleteProperty(globalThis, name);
    isUp = true;
    ending = new Promise((resolve) => (end = resolve));
    if (plan.isDurable) {
      const parts = {
        disk: disk.port(() => {
          count(id);
          if (hasEnded(id)) throw new Error('This process has ended.');
        }),
        processes: processes.as(life),
        compactFrom: 20_000,
        recent: 4,
      };
      kept = journalAt('/journal', parts);
    }
    remote = createService(world.service, world.random.fork(`service ${id}`), {
      rpcUrl: NODE_URLS.slice(0, plan.nodes),
      jupiterUrl: JUPITER_URL,
      fetch: (input, init) => request(id, input, init),
    });
    const approving = world.random.fork(`approve ${id}`);
    const approve = async (shown: Approved) => {
      if (plan.looks)
        await Promise.all(clients.flatMap((client) => [client.spent(), client.balance()]));
      await new Promise((resolve) => setTimeout(resolve, approving.pick([10, 500, 7_000])));
      const isApproved = approving.chance(plan.approves ?? 1);
      if (isApproved) world.approvals.push(shown);
      else if (plan.refusal === 'throws') throw new Error('The approver is gone.');
      else if (plan.refusal === 'hangs') return new Promise<never>(() => undefined);
      return isApproved;
    };
    const common = {
      ...(plan.retryWindow === undefined ? {} : { retryWindow: plan.retryWindow }),
      ...{
        rpcUrl: NODE_URLS.slice(0, plan.nodes),
        jupiterUrl: JUPITER_URL,
        jupiterApiKey: JUPITER_KEY,
        network: NETWORK,
        // A service asks nothing: it signs nothing.
        policy: {
          ...policyOf(plan),
          ...(plan.approves === undefined || plan.isService ? {} : { approve }),
        },
        ...(plan.hasJournal && { journal: through(kept, world.strike, () => whileRunning(id)) }),
        ...(plan.timeouts && { timeouts: plan.timeouts }),
        ...(plan.isRemote && { apiUrl: SERVICE_URL }),
        ...(plan.relays && { relayer: { url: RELAYER_URL } }),
        ...(plan.swapFrom && !plan.isService && { swapFrom: plan.swapFrom }),
      },
      fetch: (input: RequestInfo | URL, init?: RequestInit) => request(id, input, init),
    };
    trace(`process ${id} starts`);
    if (plan.isService) {
      clients = [];
      service = local(common);
      return;
    }
    const signer = {
      address: WALLET,
      async signMessage(message: Uint8Array, intent: SigningIntent) {
        await outside(id);
        return world.strike('signer', () => sign(message, intent));
      },
    };
    const presign = plan.presigns
      ? [0, 1, 2].map((seller) => `https://${hostOf(seller)}/`)
      : plan.states;
    const make = (_: unknown, place: number): Client => {
      const isPlain = plan.isMixed && place % 2 === 1;
      const client = createClient({
        ...common,
        signer,
        ...(isPlain
          ? { policy: { ...common.policy, topUp: undefined } }
          : { autoSwap: plan.autoSwap, presign }),
      });
      client.on('*', (event) => {
        trace(
          `${event.type} ${event.id}${'signature' in event ? ` ${event.signature}` : ''}${'code' in event ? ` ${event.code}` : ''}`,
        );
        world.shows(JSON.stringify(event));
        if (event.type === 'payment.required') world.work.looks(event.id);
        if (event.type === 'payment.chosen') payees.set(event.id, event.payTo);
        if (event.type === 'payment.chosen' || event.type === 'payment.failed')
          world.work.chose(event.id);
        if ('url' in event) hosts.set(event.id, new URL(event.url).host);
        if (event.type === 'swap.signed')
          swapsOf.set(signatureOf(event.signature), {
            attempt: event.id,
            host: hosts.get(event.id) ?? '',
            payee: payees.get(event.id),
          });
        if (event.type === 'payment.settled') told.set(event.receipt.id, clock.now());
        if (event.type === 'payment.signed') paymentsOf.set(event.payerSignature, event.id);
        ids.add(event.id);
        const closing = closings.find(
          ({ step, at }) => step === event.type && at <= clock.now() && clients.includes(client),
        );
        if (closing === undefined) return;
        closings.splice(closings.indexOf(closing), 1);
        close(client, closing.waits);
      });
      // This loads the modules that a client loads with its first payment.
      client.spent().catch(() => undefined);
      return client;
    };
    const close = (client: Client, waits: boolean): void => {
      trace(`client ${clients.indexOf(client)} is closed`);
      const closed = client.close();
      const replace = () => {
        // A client that waits for its close may be closed again.
        const place = clients.indexOf(client);
        if (place >= 0) clients.splice(place, 1, make(client, place));
      };
      if (waits) void closed.then(() => hasEnded(id) || replace());
      else replace();
    };
    closeAny = (waits) => {
      const [client] = clients;
      if (client !== undefined) close(client, waits);
    };
    clients = Array.from({ length: plan.clients }, make);
    if (plan.twins) {
      // The second process has its own state, journal and id.
      const twin = 1_000 + id;
      clock.after(40, () => {
        if (hasEnded(id)) return;
        trace(`process ${twin} starts`);
        for (const name of processState()) Reflect.deleteProperty(globalThis, name);
        const parts = {
          disk: disk.port(() => {
            count(id);
            if (hasEnded(id)) throw new Error('This process has ended.');
          }),
          processes: processes.as(twin),
          compactFrom: 20_000,
          recent: 4,
        };
        const journal = through(journalAt('/journal', parts), world.strike, () => whileRunning(id));
        common.journal = journal;
        clients = [...clients, ...Array.from({ length: plan.clients }, make)];
      });
    }
  }

  return {
    clients: () => (isUp ? clients : undefined),
    service: () => (isUp ? service : undefined),
    sign(message, intent, about) {
      const signature = sign(message, intent);
      const name = addressOf(signature);
      if (intent.kind === 'payment') paymentsOf.set(name, about.attempt);
      else if (!swapsOf.has(name)) swapsOf.set(name, about);
      return signature;
    },
    ended: () => ending,
    start,
    kill(calls, power, ended) {
      // A process that is down stays down; the next process is not affected.
      if (!isUp) return;
      const stop = () => {
        dying = undefined;
        if (!isUp) return;
        trace(`process ${life} ends${power ? ' with the power' : ''}`);
        isUp = false;
        processes.end(life);
        processes.end(1_000 + life);
        disk = disk.after(power ? 'power failure' : 'kill');
        clock.stopTimers();
        end();
        ended();
      };
      if (calls === 0) stop();
      else dying = { calls, end: stop };
    },
    isDying: () => dying !== undefined,
    ...{ signed, swapsOf, paymentsOf, arrived, sent, ids, uncounted },
    journal: () => (plan.hasJournal ? kept : (knownWallet(WALLET, NETWORK)?.journal ?? kept)),
  };
}

/** Returns fetch's error for a failed connection. */
function lost({ href }: URL): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error(`connect ECONNREFUSED ${href}`), { code: 'ECONNREFUSED' }),
  });
}

/** Returns the properties of a response after redirects. */
function redirected({ href }: URL): PropertyDescriptorMap {
  return { url: { value: href }, redirected: { value: true } };
}

/** Wraps a response: calls `end` when its body was read, and breaks the body off at a signal. */
function atItsEnd(
  { body, status, headers }: Response,
  signal: AbortSignal | null | undefined,
  end: () => void,
): Response {
  const reader = body?.getReader();
  if (reader === undefined) {
    end();
    return new Response(null, { status, headers });
  }
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (signal?.aborted === true) throw signal.reason;
    const { done, value } = await reader.read();
    if (!done) return controller.enqueue(value);
    end();
    controller.close();
  };
  return new Response(
    new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 }),
    { status, headers },
  );
}
