import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.js';
import { planOf } from './plan.js';
import type { Orders, Report } from './worker.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    runs: { type: 'string' },
    drop: { type: 'string', default: '' },
    without: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

/** Runs one worker to its end; its reports go to `hear`. */
function start(file: string, orders: Orders, hear: (report: Report) => void, all: Set<() => void>): Promise<void> {
  const child = spawn(process.execPath, [file, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = () => void child.kill();
  all.add(stop);
  createInterface(child.stdout).on('line', (line) => {
    if (line.startsWith('{')) hear(JSON.parse(line) as Report); // The worker wrote it.
    else console.log(line);
  });
  return new Promise((resolve, reject) => {
    child.on('exit', (code, signal) => {
      all.delete(stop);
      if (code === 0 || signal !== null) resolve();
      else reject(new Error(`A worker ended with ${code}.`));
    });
  });
}

async function main(): Promise<void> {
  const isOne = values.seed !== undefined && values.minutes === '1' && values.runs === undefined;
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);
  const count = isOne ? 1 : Number(values.workers);
  const drop = values.drop === '' ? [] : values.drop.split(',').map(Number);
  const runs = isOne ? 1 : Number(values.runs ?? 1e9);
  const file = await bundle(values.without);
  const started = Date.now();
  const found: Extract<Report, { kind: 'broken' }>[] = [];
  const stops = new Set<() => void>();
  let ran = 0;
  let slowest = { ms: 0, seed: 0 };
  console.log(`Simulating from seed ${seed}${values.without === undefined ? '' : ` without ${values.without}`}.`);
  const hear = (report: Report) => {
    if (report.kind === 'broken') {
      found.push(report);
      for (const stop of stops) stop();
    } else {
      ran += 1;
      if (report.ms > slowest.ms) slowest = report;
      if (isOne) console.log(`Seed ${report.seed} has trace ${report.hash}.`);
    }
  };
  const orders = { step: count, ms: Number(values.minutes) * 60_000, runs, drop, trace: values.trace };
  await Promise.all(Array.from({ length: count }, (_, index) => start(file, { ...orders, seed: seed + index }, hear, stops)));
  const s = (Date.now() - started) / 1000;
  console.log(`${ran} runs in ${s.toFixed(1)} s, ${(ran / s).toFixed(1)} a second; the slowest, seed ${slowest.seed}, took ${slowest.ms} ms.`);
  for (const { seed: one, drop: left, broken, lines } of found) {
    const plan = planOf(one);
    console.log(`\nSeed ${one} breaks a promise:\n  ${broken.join('\n  ')}`);
    console.log('\nWith these parts left of it:');
    plan.parts.forEach((part, index) => !left.includes(index) && console.log(`  ${JSON.stringify(part)}`));
    const { parts: _parts, ...rest } = plan;
    console.log(`  ${JSON.stringify(rest, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`);
    console.log(`\n${lines.slice(-200).join('\n')}`);
    const mend = values.without === undefined ? '' : ` --without ${values.without}`;
    console.log(`\nReplay it: npm run simulate -- --seed ${one}${left.length === 0 ? '' : ` --drop ${left.join(',')}`}${mend}`);
  }
  process.exitCode = found.length > 0 ? 1 : 0;
}

await main();
