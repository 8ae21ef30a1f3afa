import { Agent } from 'node:http';
import { startWorld } from '../clients.js';
import { paired, type Pair } from '../measure.js';
import { start, type Child } from '../process.js';
import { mixOf, type Mix, type Shot } from './mix.js';
import { send, type Answer } from './open-loop.js';
import type { Service } from './service.child.js';

/** CPU core to which the services are bound, so that each uses exactly a single core. */
const CORE = 0;
const ROUNDS = 5;
const BATCH = 40;
/** Requests until V8 compiles hardly more. */
const WARM_UP = 1_000;

export const startService = () => start<Service>('service/service.child.ts', { core: CORE });

type Facts = Awaited<ReturnType<typeof startWorld>>;

/** Measures the CPU time of requests to each operation, compared with a bare server. */
export async function service() {
  const world = await startWorld();
  const mix = await mixOf(world);
  const figures = await cpuOf(world, mix, ['build', 'auto-pay, swap']);
  await world.end();
  return { build: figures.get('build')!, autoPay: figures.get('auto-pay, swap')! };
}

export async function cpuOf({ rpcUrl, jupiterUrl }: Facts, mix: Mix, names: readonly string[]) {
  const [ours, bare] = [startService(), startService()];
  const url = await ours.call('serve', rpcUrl, jupiterUrl, true);
  const bareUrl = await bare.call('bare', await answersOf(url, mix));
  const found = new Map<string, ReturnType<typeof paired>>();
  for (const name of names) {
    const shots = mix
      .flatMap((part): readonly Shot[] => part.shots)
      .filter((shot) => shot.name === name);
    await cpu(ours, url, shots, WARM_UP);
    await cpu(bare, bareUrl, shots, WARM_UP);
    const pairs: Pair[] = [];
    while (pairs.length < ROUNDS)
      pairs.push({
        ours: await cpu(ours, url, shots, BATCH),
        other: await cpu(bare, bareUrl, shots, BATCH),
      });
    found.set(name, paired(pairs));
  }
  await Promise.all([ours.end(), bare.end()]);
  return found;
}

/** Returns a service's answer to each request of the mix, for the bare server. */
export async function answersOf(url: string, mix: Mix): Promise<ReadonlyMap<string, Answer>> {
  const agent = new Agent({ keepAlive: true });
  const answers = new Map<string, Answer>();
  for (const shot of mix.flatMap((part): readonly Shot[] => part.shots))
    answers.set(`${shot.method} ${shot.path} ${shot.body ?? ''}`, await send(url, shot, agent));
  agent.destroy();
  return answers;
}

async function cpu(child: Child<Service>, url: string, shots: readonly Shot[], count: number) {
  const agent = new Agent({ keepAlive: true });
  const before = await child.usage();
  for (let at = 0; at < count; at += 1) {
    const { status, body } = await send(url, shots[at % shots.length]!, agent);
    if (status >= 500) throw new Error(`${status}: ${body}`);
  }
  const after = await child.usage();
  agent.destroy();
  return (after.cpuMs - before.cpuMs) / count;
}
