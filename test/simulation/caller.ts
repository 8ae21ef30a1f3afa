import { isExactChangeError, settled, type Client } from '../../src/index.js';
import { textOf } from './keys.js';
import type { Machine } from './machine.js';
import { hostOf, itemOf, type Part, type Reader } from './plan.js';
import type { World } from './world.js';

export type Buy = Part & { readonly kind: 'buy' };

/** Returns the URL of a purchase; its item identifies the purchase. */
export const urlOf = ({ seller, item }: Pick<Buy, 'seller' | 'item'>): string =>
  `https://${hostOf(seller)}/item?id=${item}`;

/**
 * Runs a caller that wants an item a single time. It repeats its call until it has the item, also
 * after restarts of the process. With a key, it repeats the call even after that.
 */
export async function buy(world: World, machine: Machine, part: Buy): Promise<void> {
  const { clock, trace } = world;
  const kept: Kept = { header: undefined };
  const name = `item ${part.item}${part.key ? ' with its key' : ''}`;
  await clock.wait(part.at);
  const stopping = part.stops?.times ?? 0;
  for (let count = 0; count < stopping + part.tries; count += 1) {
    let clients = machine.clients();
    while (clients === undefined) {
      await clock.wait(1_000);
      clients = machine.clients();
    }
    const client = clients[part.client % clients.length];
    if (client === undefined) return;
    const stops = count < stopping ? part.stops : undefined;
    const ended = machine.ended().then(() => 'the process ended');
    const trying = attempt(world, client, { ...part, stops }, kept);
    let result = await world.work.during(Promise.race([trying, ended]));
    trace(`${name}: ${result}`);
    // An unread body counts as delivered while its process runs.
    if (result === 'kept')
      result = await Promise.race([clock.wait(part.gap).then(() => 'done'), ended]);
    if (!part.key && (result === 'done' || result === 'already_spent')) return;
    // The process had the whole answer before it ended, so a repeated call is another purchase.
    if (!part.key && result === 'the process ended' && machine.arrived.has(itemOf(urlOf(part))))
      return;
    if (result !== STOPPED) await clock.wait(part.gap);
  }
}

const STOPPED = 'the caller stops it';

/**
 * The payment header that a caller with `own` keeps across restarts, because a second payment would
 * be a second purchase.
 */
interface Kept {
  header: { readonly name: string; readonly value: string } | undefined;
}

async function attempt(world: World, client: Client, part: Buy, kept: Kept): Promise<string> {
  const { clock, traffic } = world;
  const stop = new AbortController();
  if (part.abort !== undefined)
    clock.after(part.abort, () => stop.abort(new Error('the caller gives up')));
  const isStopped = part.abort !== undefined || part.stops !== undefined;
  const signal = isStopped ? stop.signal : world.signal;
  const [url, { method }] = [urlOf(part), part];
  const ids = new Set<string>();
  const forget = client.on('*', (event) => {
    // The first attempt for the item that no other call has is this call's own.
    const isOwn = ids.size === 0 && !world.attemptsOfCalls.has(event.id);
    if (isOwn && event.type === 'payment.required' && itemOf(event.url) === String(part.item)) {
      ids.add(event.id);
      world.attemptsOfCalls.add(event.id);
    }
    if (event.type !== part.stops?.step || !ids.has(event.id)) return;
    const abort = () => stop.abort(new Error(STOPPED));
    if (part.stops.ms === 0) abort();
    else clock.after(part.stops.ms, abort);
  });
  let isPaying = false;
  const init = {
    method,
    ...(method === 'POST' ? { body: 'please' } : {}),
    ...(signal === undefined ? {} : { signal }),
  };
  try {
    if (part.plans) {
      traffic.begins(method, url);
      await client.plan(url, init);
    }
    isPaying = true;
    if (part.own) {
      const header = (kept.header ??= await payFor(world, client, part, signal));
      if (header === undefined) return 'no terms';
      traffic.hands(header.value);
      const response = await client.fetch(url, {
        ...init,
        headers: { [header.name]: header.value },
      });
      return whatCame(response, await read(world, response, part.reader));
    }
    traffic.begins(method, url);
    const key = `key ${part.under}`;
    const response = await client.fetch(url, {
      ...init,
      ...(part.key && !part.inHeader ? { idempotencyKey: key } : {}),
      ...(part.key && part.inHeader ? { headers: { 'Idempotency-Key': key } } : {}),
      ...(part.repeatable ? { repeatable: true } : {}),
    });
    if (part.settles !== undefined) await heed(world, response, part.settles);
    return whatCame(response, await read(world, response, part.reader));
  } catch (error) {
    world.shows(textOf(error));
    if (isPaying && isExactChangeError(error))
      world.thrown.push({ item: String(part.item), at: clock.now(), ids, error });
    return isExactChangeError(error)
      ? error.code
      : error instanceof Error
        ? error.message
        : String(error);
  } finally {
    forget();
  }
}

/** Waits with `settled` until the chain has decided, or until the caller has waited for `ms`. */
async function heed({ clock, plan, ledger, lies }: World, response: Response, ms: number) {
  const stop = new AbortController();
  const reason = new Error('the caller waits no longer');
  clock.after(ms, () => stop.abort(reason));
  const receipt = await settled(response, { signal: stop.signal }).catch((error: unknown) => {
    if (error !== reason && !isExactChangeError(error, 'client_closed'))
      lies.push(`settled() threw ${String(error)}`);
    return undefined;
  });
  const { signature = '', payerSignature } = receipt?.payment ?? {};
  if (receipt !== undefined && receipt.state !== 'settled' && receipt.state !== 'unsettled')
    lies.push(`settled() gave ${payerSignature} as ${receipt.state}`);
  const isExempt = ({ kind }: Part) => kind === 'node' || kind === 'fork';
  if (receipt?.state === 'settled' && ledger.landed(signature)?.error !== null)
    if (!plan.parts.some(isExempt)) lies.push(`settled() gave ${payerSignature} as settled`);
}

/** The part of a body that was read; a `kept` body may be read later. */
type Read = 'whole' | 'part' | 'kept';

function whatCame({ status }: Response, read: Read): string {
  if (status !== 200 || read === 'part') return `status ${status}, body ${read}`;
  return read === 'whole' ? 'done' : 'kept';
}

/** Milliseconds before a `late` reader reads a body. */
const LATE_MS = 100_000;

/** Reads a body in the way of the reader. Rejects if the body breaks off. */
export async function read(
  { clock, kept }: World,
  response: Response,
  reader: Reader,
): Promise<Read> {
  switch (reader) {
    case 'never':
      kept.push(async () => response.body?.cancel());
      return 'kept';
    case 'late':
      await clock.wait(LATE_MS);
      await response.text();
      return 'whole';
    case 'text':
      await response.text();
      return 'whole';
    case 'json':
      await response.json();
      return 'whole';
    case 'bytes':
      await response.arrayBuffer();
      return 'whole';
    case 'clone':
      await response.clone().text();
      await response.text();
      return 'whole';
    case 'stream':
    case 'stalls':
    case 'half': {
      const stream = response.body?.getReader();
      for (;;) {
        const part = await stream?.read();
        if (part === undefined || part.done) return 'whole';
        if (reader === 'stream') continue;
        if (reader === 'stalls') {
          kept.push(async () => stream?.cancel());
          return 'kept';
        }
        await stream?.cancel();
        return 'part';
      }
    }
  }
}

/** Requests the terms, and returns the header of a payment by `client.pay`. */
async function payFor(
  world: World,
  client: Client,
  part: Buy,
  signal: AbortSignal | undefined,
): Promise<Kept['header']> {
  const unpaid = await ask(world, part, {});
  if (unpaid === undefined || unpaid.status !== 402) return undefined;
  const { header } = await client.pay(unpaid, {
    url: urlOf(part),
    ...(signal === undefined ? {} : { signal }),
  });
  return header;
}

/** Sends a request without the library. Returns undefined if no answer comes. */
export async function ask(
  { clock, serve }: World,
  part: Buy,
  headers: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  const served = await serve(new URL(urlOf(part)), {
    method: part.method,
    headers: new Headers(headers),
    body: '',
  });
  if (typeof served === 'string') {
    await clock.wait(5_000);
    return undefined;
  }
  await clock.wait(served.ms);
  return served.response;
}
