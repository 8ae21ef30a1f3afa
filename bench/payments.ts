import { startWorld } from './clients.js';
import { median, paired, sleep, type Pair } from './measure.js';

const NODE_MS = 40;
const WARM_UP = 60;
const WARM = 25;
const SPARSE = 14;
const FAR = 12;
const SPARSE_MS = 3_000;
/** One process took 1.9 ms for a payment, another 3.1 ms: V8 compiles other functions in each. */
const CPU_PROCESSES = 3;
const CPU_BATCH = 100;
/** Rounds until V8 compiles hardly more: after 4 it still compiles 80 functions in each. */
const CPU_WARM_UP = 25;
const CPU_ROUNDS = 3;

/** Measures time and CPU of single payments, compared with the official client and the floor. */
export async function payments() {
  const { world, client, apiUrl, quickUrl, end } = await startWorld();
  const url = `${apiUrl}/usdc`;
  const startPayers = async () => ({
    ours: await client('ours'),
    official: await client('official'),
    floor: await client('floor'),
  });
  const payers = await startPayers();
  const { ours, official, floor } = payers;
  const ahead = await client('ours', { options: { presign: [quickUrl] } });
  for (const payer of [ours, official, floor, ahead]) {
    await payer.call('prepare', url, WARM_UP);
    await payer.call('batch', url, WARM_UP);
  }
  await world.call('latency', 'client', NODE_MS);

  const far = async (payer: typeof ours) => {
    const { each } = await payer.call('batch', `${quickUrl}/far`, FAR);
    return median(each.map(({ ms }) => ms));
  };
  const once = async (payer: typeof ours) => (await payer.call('batch', url, 1)).each[0]!;
  /** Measures rounds of each payer; the headers of the floor are prepared before. */
  const rounds = async (
    { ours, official, floor }: typeof payers,
    count: number,
    [at, paid]: [url: string, payments: number],
    work: (payer: typeof ours) => Promise<number>,
  ) => {
    const found: Round[] = [];
    while (found.length < count) {
      const [mine, other] = [await work(ours), await work(official)];
      await floor.call('prepare', at, paid);
      found.push({ ours: mine, other, floor: await work(floor) });
    }
    return found;
  };

  const warm: Pair[] = [];
  while (warm.length < WARM)
    warm.push({ ours: (await once(ours)).outsideMs, other: (await once(official)).outsideMs });
  const sparse = summary(
    await rounds(payers, SPARSE, [url, 1], async (payer) => {
      const pause = sleep(SPARSE_MS);
      const { ms } = await once(payer);
      await pause;
      return ms;
    }),
  );
  await world.call('latency', 'client', 0);
  const cpu: Round[] = [];
  for (let process = 0; process < CPU_PROCESSES; process += 1) {
    const fresh = await startPayers();
    // The payers warm up in turns: in a process that idles for 8 s, V8 collects garbage and drops
    // compiled code with it, and a payment takes twice as long for the next thousand.
    const count = CPU_WARM_UP + CPU_ROUNDS;
    const batches = await rounds(fresh, count, [quickUrl, CPU_BATCH], async (payer) => {
      return (await payer.call('batch', `${quickUrl}/cpu`, CPU_BATCH)).cpuMs;
    });
    cpu.push(...batches.slice(CPU_WARM_UP));
    for (const payer of Object.values(fresh)) await payer.end();
  }
  const unsigned = await far(ours);
  const presigned = await far(ahead);
  await end();
  return {
    warm: paired(warm),
    sparse: { ...sparse, note: `floor/official ${(sparse.floor / sparse.other).toFixed(2)}` },
    cpu: summary(cpu),
    presign: { ours: presigned, other: unsigned },
  };
}

interface Round extends Pair {
  readonly floor: number;
}

function summary(found: readonly Round[]) {
  return { ...paired(found), floor: median(found.map(({ floor }) => floor)) };
}
