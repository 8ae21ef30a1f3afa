import { startWorld } from './clients.js';
import { median, paired, type Pair } from './measure.js';
import { EXPENSIVE } from './quick-seller.js';

const TRIP_MS = 40;
const CONFIRMATION_MS = 400;
/**
 * Least milliseconds of a swap: trips to read, simulate, quote and build, and half a trip to send,
 * because the WebSocket reports the confirmation at once.
 */
const NEEDED_MS = 4.5 * TRIP_MS + CONFIRMATION_MS;
const WARM_UP = 8;
const RUNS = 15;

/** Measures payments that each need a swap: the price is above the remainder of the last swap. */
export async function swap() {
  const { world, client, quickUrl, end } = await startWorld(CONFIRMATION_MS);
  const ours = await client('ours', { funds: { SOL: '1000' }, options: { autoSwap: true } });
  const floor = await client('floor');
  const expensive = `${quickUrl}${EXPENSIVE}`;
  await ours.call('prepare', expensive, 0);
  await ours.call('batch', expensive, WARM_UP);
  await floor.call('prepare', `${quickUrl}/usdc`, RUNS);
  await world.call('latency', 'client', TRIP_MS, TRIP_MS);
  await world.call('resetCalls');
  const runs: Pair[] = [];
  while (runs.length < RUNS) {
    const legs = (await floor.call('batch', `${quickUrl}/usdc`, 1)).each[0]!.ms;
    const { ms } = (await ours.call('batch', expensive, 1)).each[0]!;
    runs.push({ ours: ms, other: NEEDED_MS + legs });
  }
  // The client itself sends only swaps; the seller sends payments.
  const { sendTransaction: swaps = 0 } = await world.call('nodeCalls', 'client');
  const legs = median(runs.map(({ other }) => other)) - NEEDED_MS;
  await end();
  if (swaps < RUNS) throw new Error(`${RUNS} payments made ${swaps} swaps.`);
  return { trips: { ...paired(runs), note: `legs ${legs.toFixed(0)} ms` } };
}
