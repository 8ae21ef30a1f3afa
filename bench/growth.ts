import { startWorld } from './clients.js';
import { paired, type Pair } from './measure.js';

const MANY = 10_000;
const AT_ONCE = 100;
const ROUNDS = 8;
const BATCH = 40;
const ATTEMPTS = 100_000;
const MOST_MS = 75_000;
const LOOKS = 3;
const HOURS = 24;
const AN_HOUR = 60_000;
const HOUR_MS = 60 * 60 * 1_000;
const MILLION = 1_000_000;

/**
 * What a payment costs that comes after ten thousand to the same URL. Beside it pays a new client
 * in the same process: the same code, as warm, and the same heap.
 */
export async function growth() {
  const { client, quickUrl, end } = await startWorld();
  const url = `${quickUrl}/same`;
  const one = await client('ours');
  await one.call('batch', url, AT_ONCE);
  const before = await one.call('heap');
  for (let paid = AT_ONCE; paid < MANY; paid += AT_ONCE) await one.call('crowd', url, AT_ONCE);
  const real = { ours: (await one.call('heap')) - before };
  await client('ours', {}, one);
  await one.call('batch', url, BATCH);

  const cpu: Pair[] = [];
  while (cpu.length < ROUNDS) {
    const other = (await one.call('batch', url, BATCH)).cpuMs;
    await one.call('turn');
    cpu.push({ ours: (await one.call('batch', url, BATCH)).cpuMs, other });
    await one.call('turn');
  }
  await end();
  return { cpu: paired(cpu), real };
}

/**
 * What a journal in memory holds after the payments of a day, spread over its hours, and how long
 * it keeps the loop from turning at most. What one payment writes is written again with other ids
 * and times: to pay as many would take hours.
 */
export async function memory() {
  const { client, quickUrl, end } = await startWorld();
  const grown = async (attempts: number) => {
    const one = await client('ours', { place: 'memory' });
    await one.call('yesterday');
    await one.call('batch', `${quickUrl}/same`, 1);
    const before = await one.call('heap');
    const { added, took, steps } = await one.call('replay', attempts, { mostMs: MOST_MS });
    const perAttempt = ((await one.call('heap')) - before) / added;
    await one.end();
    const note = added < attempts ? `from the first ${added}` : `each: ${steps.join(', ')}`;
    return { ours: perAttempt * attempts, note, took };
  };
  const looks = [];
  while (looks.length < LOOKS) looks.push(await grown(ATTEMPTS));
  await end();
  // What else the machine does, and the collector of garbage, comes at another step each time.
  const [first, ...others] = looks.map(({ took }) => took);
  const least = first!.map((ms, at) => Math.min(ms, ...others.map((other) => other[at] ?? ms)));
  const blocked = least.subarray(least.length / 100).reduce((most, ms) => Math.max(most, ms), 0);
  return { hundred: looks[0]!, blocked: { ours: blocked } };
}

/**
 * A busy wallet's day: a thousand payments a minute by a clock that is set, in a journal in memory.
 * What it holds at the end beside what it held at noon, and whether it still counts each cent.
 */
export async function day() {
  const { client, quickUrl, end } = await startWorld();
  const one = await client('ours', { place: 'memory' });
  await one.call('yesterday');
  await one.call('batch', `${quickUrl}/same`, 1);
  const before = await one.call('heap');
  const held: number[] = [];
  while (held.length < HOURS) {
    await one.call('replay', AN_HOUR, { spanMs: HOUR_MS });
    held.push((await one.call('heap')) - before);
  }
  const counted = await one.call('counted', (HOURS + 1) * HOUR_MS);
  const made = BigInt(HOURS * AN_HOUR + 1);
  const isExact = counted.payments === made && counted.microUsd === made * counted.firstMicroUsd;
  await end();
  return {
    million: { ours: held[Math.floor(MILLION / AN_HOUR)]! },
    flat: { ours: held[HOURS - 1]!, other: held[HOURS / 2 - 1]! },
    sums: { ours: isExact ? 'exact' : `${counted.payments} of ${made}` },
  };
}
