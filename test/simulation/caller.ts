import { isExactChangeError, type Client } from '../../src/index.js';
import type { Machine } from './machine.js';
import { hostOf, type Part, type Reader } from './plan.js';
import type { World } from './world.js';

export type Buy = Part & { readonly kind: 'buy' };

/** What purchases are told apart by: each part without a key has an item of its own. */
export const urlOf = ({ seller, item }: Pick<Buy, 'seller' | 'item'>): string => `https://${hostOf(seller)}/item/${item}`;

/**
 * A caller that wants one thing once, and repeats its call until it has it: over all that becomes of the process. With a key it goes on to repeat
 * the call after that.
 */
export async function buy({ clock, trace }: World, machine: Machine, part: Buy): Promise<void> {
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
    const said = await Promise.race([attempt(client, part, clock.after), ended]);
    trace(`${name}: ${said}`);
    if (!part.key && (said === 'done' || said === 'already_spent')) return;
    // Its process had all of the answer before it ended: what it repeats after that is another purchase.
    if (!part.key && said === 'the process ended' && machine.arrived.has(urlOf(part))) return;
    await clock.wait(part.gap);
  }
}

async function attempt(client: Client, part: Buy, after: (ms: number, call: () => void) => void): Promise<string> {
  const stop = new AbortController();
  if (part.abort !== undefined) after(part.abort, () => stop.abort(new Error('the caller gives up')));
  try {
    const response = await client.fetch(urlOf(part), {
      method: part.method,
      ...(part.method === 'POST' ? { body: 'please' } : {}),
      ...(part.key ? { idempotencyKey: `key ${part.item}` } : {}),
      ...(part.abort === undefined ? {} : { signal: stop.signal }),
    });
    const isWhole = await read(response, part.reader);
    return response.status === 200 && isWhole ? 'done' : `status ${response.status}${isWhole ? '' : ', read in part'}`;
  } catch (error) {
    return isExactChangeError(error) ? error.code : error instanceof Error ? error.message : String(error);
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
