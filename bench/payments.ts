import { startWorld } from './clients.js';
import { median, paired, sleep, type Pair } from './measure.js';

const NODE_MS = 40;
const WARM_UP = 60;
const WARM = 25;
const SPARSE = 10;
const FAR = 12;
const SPARSE_MS = 1_000;
const CPU_ROUNDS = 8;
const CPU_BATCH = 40;

/** Pays with the first request; a client that does not know it is not made. */
const PRESIGN = { presign: true };

/** Time and CPU of single payments, beside the official client and the floor. */
export async function payments() {
  const { world, client, apiUrl, quickUrl, end } = await startWorld();
  const url = `${apiUrl}/usdc`;
  const [ours, official, floor] = await Promise.all([
    client('ours'),
    client('official'),
    client('floor'),
  ]);
  const all = [ours, official, floor];
  for (const one of all) {
    await one.call('prepare', url, WARM_UP);
    await one.call('batch', url, WARM_UP);
  }
  await world.call('latency', 'client', NODE_MS);

  const warm: Pair[] = [];
  const sparse: { ours: number; other: number; floor: number }[] = [];
  const once = async (one: typeof ours) => (await one.call('batch', url, 1)).each[0]!;
  while (warm.length < WARM)
    warm.push({ ours: (await once(ours)).outsideMs, other: (await once(official)).outsideMs });
  while (sparse.length < SPARSE) {
    const ms: number[] = [];
    for (const one of all) {
      if (one === floor) await floor.call('prepare', url, 1);
      const pause = sleep(SPARSE_MS);
      ms.push((await once(one)).ms);
      await pause;
    }
    const [mine = 0, other = 0, least = 0] = ms;
    sparse.push({ ours: mine, other, floor: least });
  }

  await world.call('latency', 'client', 0);
  const far = async (one: typeof ours) => {
    const { each } = await one.call('batch', `${quickUrl}/far`, FAR);
    return median(each.map(({ ms }) => ms));
  };
  const cpu: { ours: number; other: number; floor: number }[] = [];
  while (cpu.length < CPU_ROUNDS) {
    const ms: number[] = [];
    for (const one of all) {
      if (one === floor) await floor.call('prepare', quickUrl, CPU_BATCH);
      ms.push((await one.call('batch', `${quickUrl}/cpu`, CPU_BATCH)).cpuMs);
    }
    const [mine = 0, other = 0, least = 0] = ms;
    cpu.push({ ours: mine, other, floor: least });
  }
  const own = await far(ours);
  const presigning = await client('ours', { options: PRESIGN }).catch(() => undefined);
  const presigned = presigning && (await far(presigning));
  await end();
  const least = (rows: readonly { readonly floor: number }[]) =>
    median(rows.map((row) => row.floor));
  return {
    warm: paired(warm),
    sparse: { ...paired(sparse), floor: least(sparse) },
    cpu: { ...paired(cpu), floor: least(cpu) },
    presign: { ours: presigned ?? 'none', other: own },
  };
}
