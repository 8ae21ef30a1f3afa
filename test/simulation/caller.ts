import { isExactChangeError, type Client } from '../../src/index.js';
import { textOf } from './keys.js';
import type { Machine } from './machine.js';
import { hostOf, itemOf, type Part, type Reader } from './plan.js';
import type { World } from './world.js';

export type Buy = Part & { readonly kind: 'buy' };

/** What purchases are told apart by: each part without a key has an item of its own. */
export const urlOf = ({ seller, item }: Pick<Buy, 'seller' | 'item'>): string =>
  `https://${hostOf(seller)}/item?id=${item}`;

/**
 * A caller that wants one thing once, and repeats its call until it has it: over all that becomes
 * of the process. With a key it goes on to repeat the call after that.
 */
export async function buy(world: World, machine: Machine, part: Buy): Promise<void> {
  const { clock, trace } = world;
  const kept: Kept = { header: undefined };
  const name = `item ${part.item}${part.key ? ' with its key' : ''}`;
  await clock.wait(part.at);
  for (let count = 0; count < part.tries; count += 1) {
    let clients = machine.clients();
    while (clients === undefined) {
      await clock.wait(1_000);
      clients = machine.clients();
    }
    const client = clients[part.client % clients.length];
    if (client === undefined) return;
    const ended = machine.ended().then(() => 'the process ended');
    const said = await world.work.during(Promise.race([attempt(world, client, part, kept), ended]));
    trace(`${name}: ${said}`);
    if (!part.key && (said === 'done' || said === 'already_spent')) return;
    // Its process had all of the answer before it ended: what it repeats after that is another
    // purchase.
    if (!part.key && said === 'the process ended' && machine.arrived.has(itemOf(urlOf(part))))
      return;
    await clock.wait(part.gap);
  }
}

/**
 * What a caller that sends its payment by itself keeps, whatever becomes of the process: a second
 * payment would be a second purchase.
 */
interface Kept {
  header: { readonly name: string; readonly value: string } | undefined;
}

async function attempt(world: World, client: Client, part: Buy, kept: Kept): Promise<string> {
  const { clock, traffic } = world;
  const stop = new AbortController();
  if (part.abort !== undefined)
    clock.after(part.abort, () => stop.abort(new Error('the caller gives up')));
  const signal = part.abort === undefined ? world.signal : stop.signal;
  const [url, { method }] = [urlOf(part), part];
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
    if (part.own) {
      const header = (kept.header ??= await payFor(world, client, part, signal));
      if (header === undefined) return 'no terms';
      traffic.hands(header.value);
      const response = await client.fetch(url, {
        ...init,
        headers: { [header.name]: header.value },
      });
      const isWhole = await read(response, part.reader);
      return response.status === 200 && isWhole ? 'done' : `status ${response.status}`;
    }
    traffic.begins(method, url);
    const response = await client.fetch(url, {
      ...init,
      ...(part.key ? { idempotencyKey: `key ${part.item}` } : {}),
    });
    const isWhole = await read(response, part.reader);
    return response.status === 200 && isWhole
      ? 'done'
      : `status ${response.status}${isWhole ? '' : ', read in part'}`;
  } catch (error) {
    world.shows(textOf(error));
    return isExactChangeError(error)
      ? error.code
      : error instanceof Error
        ? error.message
        : String(error);
  }
}

/** Whether the body was read to its end. Rejects if it breaks off. */
export async function read(response: Response, reader: Reader): Promise<boolean> {
  switch (reader) {
    case 'text':
      await response.text();
      return true;
    case 'json':
      await response.json();
      return true;
    case 'bytes':
      await response.arrayBuffer();
      return true;
    case 'clone':
      await response.clone().text();
      await response.text();
      return true;
    case 'stream':
    case 'half': {
      const stream = response.body?.getReader();
      for (;;) {
        const part = await stream?.read();
        if (part === undefined || part.done) return true;
        if (reader === 'stream') continue;
        await stream?.cancel();
        return false;
      }
    }
  }
}

/** The caller's own request for terms, and the header of a payment for them. */
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

/** A request of the caller's own: no process of ours is between. Undefined if no answer comes. */
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
