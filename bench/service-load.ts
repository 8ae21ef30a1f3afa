import { Agent } from 'node:http';
import { parseArgs } from 'node:util';
import { drawn, LOCAL, mixOf, type Shot } from './service/mix.js';
import { openLoop, percentile, send, statuses, type Timed } from './service/open-loop.js';
import { startPart, type Answer, type Chain, type Figures, type Role } from './service/roles.js';

// `npm run bench:load [-- --seconds 60 --rate 500]`: the service under a mix of all its operations,
// in an open loop. Beside it, in the same run, the service without what it keeps of quotes and
// balances, and a bare server of node:http with the same bytes: their ratios are what compares
// between machines.
// Service, chain and sender are a process each; on two cores what they take of them is printed,
// since any may be what limits.

const { seconds, rate } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, rate: { type: 'string', default: '500' } },
}).values;
const perSecond = Number(rate);
const WARM_UP_SECONDS = 3;

interface Run {
  readonly timed: readonly Timed[];
  readonly seconds: number;
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const chain = await startPart<Chain>({ kind: 'chain' });
const mix = mixOf(chain.facts);
const shots = drawn(mix, perSecond * Number(seconds));
const { rpcUrl, jupiterUrl } = chain.facts;
say(`${perSecond} requests a second for ${seconds} s`);

const answers = new Map<string, Answer>();
const cached = await run('service', { kind: 'service', rpcUrl, jupiterUrl, cached: true }, (url) =>
  record(url, answers),
);
const uncached = await run('service that keeps nothing', {
  kind: 'service',
  rpcUrl,
  jupiterUrl,
  cached: false,
});
const bare = await run('bare node:http, same bytes', { kind: 'bare', answers: [...answers] });
chain.end();

say(
  `\n${'ms'.padEnd(16)}${['requests', 'p50', 'p99', 'max', 'keeps nothing', 'ratio', 'bare p99', 'ratio'].map((name) => name.padStart(14)).join('')}`,
);
const names = [...new Set(shots.map(({ name }) => name))];
for (const name of names) say(row(name, [name]));
say(row('local endpoints', LOCAL));
say(row('all', names));

/** Starts a part, warms it up, sends all to it, and says what that took. */
async function run(
  title: string,
  role: Role,
  first?: (url: string) => Promise<void>,
): Promise<Run> {
  const part = await startPart<{ readonly url: string }>(role);
  const { url } = part.facts;
  await first?.(url);
  await openLoop(url, shots.slice(0, perSecond * WARM_UP_SECONDS), perSecond);
  const before = {
    part: await part.figures(),
    chain: await chain.figures(),
    own: process.cpuUsage(),
  };
  const from = performance.now();
  const timed = await openLoop(url, shots, perSecond);
  const ms = performance.now() - from;
  const after = { part: await part.figures(), chain: await chain.figures() };
  const own = process.cpuUsage(before.own);
  part.end();
  const share = (cpuMs: number) =>
    `${Math.round((100 * cpuMs) / ms)} % (${(cpuMs / timed.length).toFixed(2)} ms a request)`;
  const spent = (one: 'part' | 'chain') => share(after[one].cpuMs - before[one].cpuMs);
  say(`\n${title}`);
  say(`  ${(timed.length / (ms / 1_000)).toFixed(0)} answers a second; ${statuses(timed)}`);
  say(
    `  CPU of a core: itself ${spent('part')}, chain and aggregator ${spent('chain')}, sender ${share((own.user + own.system) / 1_000)}`,
  );
  say(
    `  RSS: ${megabytes(before.part.rss)} at first, ${megabytes(after.part.peak)} at most, ${megabytes(after.part.rss)} at last`,
  );
  return { timed, seconds: ms / 1_000 };
}

/** What the service answers to each request of the mix: for the bare server to answer the same. */
async function record(url: string, to: Map<string, Answer>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const different = mix.flatMap((one): readonly Shot[] => one.shots);
  for (const shot of different)
    to.set(`${shot.method} ${shot.path} ${shot.body ?? ''}`, await send(url, shot, agent));
  agent.destroy();
}

function row(title: string, of: readonly string[]): string {
  const times = ({ timed }: Run) =>
    timed.filter(({ name }) => of.includes(name)).map(({ ms }) => ms);
  const [ours, theirs, least] = [times(cached), times(uncached), times(bare)];
  const p99 = percentile(ours, 0.99);
  const [other, floor] = [percentile(theirs, 0.99), percentile(least, 0.99)];
  const numbers = [
    percentile(ours, 0.5),
    p99,
    Math.max(...ours),
    other,
    p99 / other,
    floor,
    p99 / floor,
  ];
  return `${title.padEnd(16)}${[String(ours.length), ...numbers.map((number) => number.toFixed(2))].map((cell) => cell.padStart(14)).join('')}`;
}

function megabytes(bytes: Figures['rss']): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}
