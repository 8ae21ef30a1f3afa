import { startWorld } from './clients.js';
import { median, sleep, sum } from './measure.js';

const CROWD = 1_000;
const ROUNDS = 3;
const WARM_UP = 60;
const MINUTE_MS = 60_000;
/** Milliseconds after which a blockhash is too old, so the first crowd starts without one. */
const OLD_MS = 16_000;

/** Measures a thousand payments at once, and a thousand in a minute, to a quick seller. */
export async function crowd() {
  const { world, client, quickUrl, end } = await startWorld();
  const [ours, official] = await Promise.all([
    client('ours', { caller: 'ours' }),
    client('official', { caller: 'official' }),
  ]);
  for (const payer of [ours, official]) await payer.call('batch', `${quickUrl}/warm`, WARM_UP);
  const calls = async (caller: string) => await world.call('nodeCalls', caller);
  const total = async (caller: string) => sum(Object.values(await calls(caller)));
  const pay = async (payer: typeof ours, path: string, everyMs?: number) => {
    const run = await payer.call('crowd', `${quickUrl}/${path}`, CROWD, everyMs);
    if (run.paid < CROWD) throw new Error(`${CROWD - run.paid} were not paid: ${run.refused[0]}`);
    return run;
  };

  await world.call('resetCalls');
  await Promise.all([ours, official].map((payer) => pay(payer, 'minute', MINUTE_MS / CROWD)));
  const note = JSON.stringify(await calls('ours'));
  const minute = { note, ours: await total('ours'), other: await total('official') };

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
    ours: median(runs.map((run) => value(run.ours))),
    other: median(runs.map((run) => value(run.other))),
    ratio: median(runs.map((run) => value(run.ours) / value(run.other))),
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
