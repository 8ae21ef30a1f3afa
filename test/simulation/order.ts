import { isExactChangeError } from '../../src/index.js';
import { textOf } from './keys.js';
import type { Machine } from './machine.js';
import type { Part } from './plan.js';
import { untrueSwaps } from './told.js';
import type { World } from './world.js';

export type Order = Part & { readonly kind: 'swap' };

/** Milliseconds between the tries of a caller. */
const GAP_MS = 5_000;

/** Runs a caller that orders a swap, and orders it again after each try. */
export async function order(world: World, machine: Machine, part: Order): Promise<void> {
  const { clock, trace } = world;
  await clock.wait(part.at);
  for (let tries = 0; tries < part.tries; tries += 1) {
    const ended = machine.ended().then(() => 'the process ended');
    const result = await Promise.race([attempt(world, machine, part), ended]);
    trace(`swap ${part.counted ? 'that counts' : 'without caps'}: ${result}`);
    await clock.wait(GAP_MS);
  }
}

async function attempt(world: World, machine: Machine, part: Order): Promise<string> {
  const { clock, tokens, ledger, ordering, lies } = world;
  const clients = machine.clients();
  const client = clients?.[part.client % clients.length];
  if (client === undefined) return 'no process runs';
  const own = tokens.find(({ worth }) => worth === 0n)?.mint ?? '';
  const mintOf = (name: string) => (name === 'own' ? own : name);
  const stop = new AbortController();
  if (part.abort !== undefined)
    clock.after(part.abort, () => stop.abort(new Error('the caller gives up')));
  // All that is signed within this store is signed for this order.
  const mine = { counted: part.counted };
  const request = {
    inputMint: mintOf(part.input),
    outputMint: mintOf(part.output),
    amount: BigInt(part.amount),
    swapMode: part.mode,
  };
  const isUnknown = ({ signature }: { readonly signature: string }) =>
    ledger.landed(signature) === undefined;
  try {
    const { signal } = stop;
    const noWorseThan = part.isBounded ? await client.quote(request, { signal }) : undefined;
    const result = await ordering.run(mine, () =>
      client.swap(request, { counted: part.counted, noWorseThan, signal }),
    );
    if (isUnknown(result)) lies.push(`the swap ${result.signature} is not on the chain`);
    lies.push(...untrueSwaps(world, [result]));
    if (noWorseThan !== undefined) {
      const { maxInAmount, minOutAmount } = noWorseThan;
      const [took, brought] = [BigInt(result.inAmount), BigInt(result.outAmount)];
      if (took > BigInt(maxInAmount) || brought < BigInt(minOutAmount))
        lies.push(`the swap ${result.signature} is worse than its quote`);
    }
    return 'done';
  } catch (error) {
    world.shows(textOf(error));
    if (!isExactChangeError(error)) return error instanceof Error ? error.message : String(error);
    const landed = machine.signed.filter(
      ({ order: its, signature }) => its === mine && ledger.landed(signature)?.error === null,
    );
    if (error.funds === 'untouched' && landed.length > 0)
      lies.push(`a swap said ${error.code} and untouched, and ${landed.length} landed`);
    lies.push(...error.moved.filter(isUnknown).map(({ signature }) => `${signature} did not land`));
    return `${error.code} ${error.funds}`;
  }
}
