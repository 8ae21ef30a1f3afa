import { parseArgs } from 'node:util';
import { buildLibrary } from './build.js';
import { startWorld } from './clients.js';
import { cpuMs, type Child } from './process.js';
import { answersOf, cpuOf, startService } from './service/cpu.js';
import { drawn, LOCAL, mixOf } from './service/mix.js';
import { openLoop, percentile, statuses, type Timed } from './service/open-loop.js';
import type { Service } from './service/service.child.js';

// `npm run bench:load [-- --seconds 60 --rate 500]` loads the service with a mix of all operations,
// in an open loop. For comparison, the same run loads the service without its caches of quotes and
// balances, and a bare node:http server that sends the same bytes. Compare only the ratios between
// machines. At the end it measures the CPU time of each operation alone.
// The service and the bare server are bound to a single core. The output shows the CPU use of the
// service and of the sender, because either may be the limit.

const { seconds, rate } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, rate: { type: 'string', default: '500' } },
}).values;
const perSecond = Number(rate);
const WARM_UP_SECONDS = 3;

const say = (line: string) => process.stdout.write(`${line}\n`);
await buildLibrary();
const world = await startWorld();
const { rpcUrl, jupiterUrl } = world;
const mix = await mixOf(world);
const shots = drawn(mix, perSecond * Number(seconds));
say(`${perSecond} requests a second for ${seconds} s`);

const cached = await run('service', (part) => part.call('serve', rpcUrl, jupiterUrl, true));
const uncached = await run('service that keeps nothing', (part) =>
  part.call('serve', rpcUrl, jupiterUrl, false),
);
const model = startService();
const answers = await answersOf(await model.call('serve', rpcUrl, jupiterUrl, true), mix);
await model.end();
const bare = await run('bare node:http, same bytes', (part) => part.call('bare', answers));
const names = [...new Set(shots.map(({ name }) => name))];
const cpu = await cpuOf(world, mix, names);
await world.end();

const titles = ['requests', 'p50', 'p99', 'max', 'keeps nothing', 'ratio', 'bare p99', 'ratio'];
say(`\n${line('ms', [...titles, 'CPU', 'bare CPU'])}`);
for (const name of names) say(row(name, [name]));
say(row('local endpoints', LOCAL));
say(row('all', names));
process.exit();

/** Starts a server, warms it up, sends all requests to it, and prints the results. */
async function run(title: string, open: (part: Child<Service>) => Promise<string>) {
  const part = startService();
  const url = await open(part);
  await openLoop(url, shots.slice(0, perSecond * WARM_UP_SECONDS), perSecond);
  const before = await part.usage();
  const [senderBefore, from] = [cpuMs(), performance.now()];
  const timed = await openLoop(url, shots, perSecond);
  const [sender, ms] = [cpuMs() - senderBefore, performance.now() - from];
  const after = await part.usage();
  await part.end();
  const share = (spent: number) =>
    `${Math.round((100 * spent) / ms)} % (${(spent / timed.length).toFixed(2)} ms a request)`;
  const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  say(`\n${title}`);
  say(`  ${((timed.length * 1_000) / ms).toFixed(0)} answers a second; ${statuses(timed)}`);
  say(`  CPU of a core: itself ${share(after.cpuMs - before.cpuMs)}, sender ${share(sender)}`);
  say(
    `  RSS: ${megabytes(before.rss)} at first, ${megabytes(after.peak)} at most, ${megabytes(after.rss)} at last`,
  );
  return timed;
}

function row(title: string, of: readonly string[]): string {
  const times = (timed: readonly Timed[]) =>
    timed.filter(({ name }) => of.includes(name)).map(({ ms }) => ms);
  const [ours, theirs, least] = [times(cached), times(uncached), times(bare)];
  const p99 = percentile(ours, 0.99);
  const [other, floor] = [percentile(theirs, 0.99), percentile(least, 0.99)];
  const spent = cpu.get(title);
  const numbers = [
    ...[percentile(ours, 0.5), p99, Math.max(...ours), other, p99 / other, floor, p99 / floor],
    ...(spent === undefined ? [] : [spent.ours, spent.other]),
  ];
  return line(title, [String(ours.length), ...numbers.map((number) => number.toFixed(2))]);
}

function line(title: string, values: readonly string[]): string {
  return `${title.padEnd(16)}${values.map((value) => value.padStart(14)).join('')}`;
}
