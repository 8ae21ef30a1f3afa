import { startWorld } from './clients.js';
import { median, sleep, sum } from './measure.js';

const CROWD = 1_000;
const ROUNDS = 3;
const WARM_UP = 60;
const MINUTE_MS = 60_000;
/** A blockhash is too old for a payment after that: the first crowd begins without one. */
const OLD_MS = 16_000;

/** A thousand payments at once, and a thousand in a minute, to a seller that is quick. */
export async function crowd() {
  const { world, client, quickUrl, end } = await startWorld();
  const [ours, official] = await Promise.all([
    client('ours', { caller: 'ours' }),
    client('official', { caller: 'official' }),
  ]);
  for (const one of [ours, official]) await one.call('batch', `${quickUrl}/warm`, WARM_UP);
  const calls = async (caller: string) => await world.call('nodeCalls', caller);
  const all = async (caller: string) => sum(Object.values(await calls(caller)));
  const pay = async (one: typeof ours, path: string, everyMs?: number) => {
    const run = await one.call('crowd', `${quickUrl}/${path}`, CROWD, everyMs);
    if (run.paid < CROWD) throw new Error(`${CROWD - run.paid} were not paid: ${run.refused[0]}`);
    return run;
  };

  await world.call('resetCalls');
  await Promise.all([ours, official].map((one) => pay(one, 'minute', MINUTE_MS / CROWD)));
  const note = JSON.stringify(await calls('ours'));
  const minute = { note, ours: await all('ours'), other: await all('official') };

  const runs: { ours: Run; other: Run }[] = [];
  const blockhashes: number[] = [];
  await sleep(OLD_MS);
  while (runs.length < ROUNDS) {
    await world.call('resetCalls');
    runs.push({ ours: await pay(ours, 'crowd'), other: await pay(official, 'crowd') });
    blockhashes.push((await calls('ours'))['getLatestBlockhash'] ?? 0);
  }
  await end();
  const rate = ({ ms }: Run) => (CROWD * 1_000) / ms;
  const stall = ({ stallMs }: Run) => stallMs / 1_000;
  const both = (value: (run: Run) => number) => ({
    ours: median(runs.map((one) => value(one.ours))),
    other: median(runs.map((one) => value(one.other))),
    ratio: median(runs.map((one) => value(one.ours) / value(one.other))),
  });
  return {
    blockhashes: { ours: Math.max(...blockhashes), other: CROWD },
    minute,
    rate: both(rate),
    stall: both(stall),
  };
}

interface Run {
  readonly ms: number;
  readonly stallMs: number;
}
