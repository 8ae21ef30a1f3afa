import { startWorld } from './clients.js';
import { paired, type Pair } from './measure.js';

const MANY = 10_000;
const AT_ONCE = 100;
const ROUNDS = 13;
const BATCH = 40;
const ATTEMPTS = 100_000;
const MOST_MS = 75_000;
const LOOKS = 3;
const HOURS = 24;
const AN_HOUR = 60_000;
const HOUR_MS = 60 * 60 * 1_000;
const MILLION = 1_000_000;

/**
 * Measures the cost of a payment after ten thousand payments to the same URL. For comparison, a new
 * client pays in the same process, so with the same warm code and the same heap.
 */
export async function growth() {
  const { client, quickUrl, end } = await startWorld();
  const url = `${quickUrl}/same`;
  const child = await client('ours');
  await child.call('batch', url, AT_ONCE);
  const before = await child.call('heap');
  for (let paid = AT_ONCE; paid < MANY; paid += AT_ONCE) await child.call('crowd', url, AT_ONCE);
  const real = { ours: (await child.call('heap')) - before };
  await client('ours', {}, child);
  await child.call('batch', url, BATCH);

  const cpu: Pair[] = [];
  const batch = async () => {
    // Collect garbage first: both clients share the heap, and each collection would count for the
    // client that pays at that moment, in most rounds the same one.
    await child.call('heap');
    return (await child.call('batch', url, BATCH)).cpuMs;
  };
  while (cpu.length < ROUNDS) {
    const other = await batch();
    await child.call('turn');
    const ours = (await batch()) + (await batch());
    await child.call('turn');
    // The other client is first and last, because a later batch finds a warmer process.
    cpu.push({ ours: ours / 2, other: (other + (await batch())) / 2 });
  }
  await end();
  return { cpu: paired(cpu), real };
}

/**
 * Measures the memory of a memory journal after the payments of a day, and the longest time that it
 * blocks the event loop. It pays once and replays the writes with other ids and times, because as
 * many payments would take hours.
 */
export async function memory() {
  const { client, quickUrl, end } = await startWorld();
  const grown = async (attempts: number) => {
    const child = await client('ours', { place: 'memory' });
    await child.call('yesterday');
    await child.call('batch', `${quickUrl}/same`, 1);
    const before = await child.call('heap');
    const { added, took, steps } = await child.call('replay', attempts, { mostMs: MOST_MS });
    const perAttempt = ((await child.call('heap')) - before) / added;
    await child.end();
    const note = added < attempts ? `from the first ${added}` : `each: ${steps.join(', ')}`;
    return { ours: perAttempt * attempts, note, took };
  };
  const looks = [];
  while (looks.length < LOOKS) looks.push(await grown(ATTEMPTS));
  await end();
  // Take the least time of each step, because garbage collection and other processes hit different
  // steps in each run.
  const [first, ...others] = looks.map(({ took }) => took);
  const least = first!.map((ms, at) => Math.min(ms, ...others.map((other) => other[at] ?? ms)));
  const blocked = least.subarray(least.length / 100).reduce((most, ms) => Math.max(most, ms), 0);
  return { hundred: looks[0]!, blocked: { ours: blocked } };
}

/**
 * Simulates a busy wallet's day: a thousand payments each minute of a set clock, in a memory
 * journal. Compares the memory at the end with that at noon, and checks that its sums are exact.
 */
export async function day() {
  const { client, quickUrl, end } = await startWorld();
  const child = await client('ours', { place: 'memory' });
  await child.call('yesterday');
  await child.call('batch', `${quickUrl}/same`, 1);
  const before = await child.call('heap');
  const held: number[] = [];
  while (held.length < HOURS) {
    await child.call('replay', AN_HOUR, { spanMs: HOUR_MS });
    held.push((await child.call('heap')) - before);
  }
  const counted = await child.call('counted', (HOURS + 1) * HOUR_MS);
  const count = BigInt(HOURS * AN_HOUR + 1);
  const isExact = counted.payments === count && counted.microUsd === count * counted.firstMicroUsd;
  await end();
  return {
    million: { ours: held[Math.floor(MILLION / AN_HOUR)]! },
    flat: { ours: held[HOURS - 1]!, other: held[HOURS / 2 - 1]! },
    sums: { ours: isExact ? 'exact' : `${counted.payments} of ${count}` },
  };
}
