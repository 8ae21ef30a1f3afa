import { parseArgs } from 'node:util';
import { bundle } from './bundle.js';
import { mends } from './mends.js';
import { planOf } from './plan.js';
import { start } from './start.js';
import type { Report } from './worker.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string' },
    workers: { type: 'string', default: '2' },
    /** Indexes of the plan's parts to leave out. */
    drop: { type: 'string', default: '' },
    /** A mend of mends.ts to revert; or `every`, to revert each mend in turn. */
    without: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);

type Broken = Extract<Report, { kind: 'broken' }>;

/**
 * Runs seeds until a promise is broken or time is up. If only `--seed` is given, it runs that seed
 * a single time.
 */
async function search(without: string | undefined): Promise<Broken | undefined> {
  const isSingle = values.seed !== undefined && values.minutes === undefined;
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);
  const count = isSingle ? 1 : Number(values.workers);
  const drop = values.drop === '' ? [] : values.drop.split(',').map(Number);
  const orders = {
    step: count,
    ms: Number(values.minutes ?? 1) * 60_000,
    runs: isSingle ? 1 : 1e9,
    drop,
    trace: values.trace,
  };
  const program = await bundle('worker', without);
  print(`Simulating from seed ${seed}${without === undefined ? '' : ` without ${without}`}.`);
  const started = Date.now();
  const seconds = () => (Date.now() - started) / 1000;
  let found: Broken | undefined;
  let ran = 0;
  const hear = (report: Report) => {
    if (report.kind === 'broken') {
      found ??= report;
      for (const { stop } of workers) stop();
    } else if (report.kind === 'suspect')
      print(
        `Seed ${report.seed} breaks a promise after ${seconds().toFixed(0)} s. Looking for the least of it.`,
      );
    else {
      ran += 1;
      if (isSingle) print(`Seed ${report.seed} has trace ${report.hash}.`);
    }
  };
  const workers = Array.from({ length: count }, (_, index) =>
    start(program.path, { ...orders, seed: seed + index }, hear, print),
  );
  try {
    await Promise.all(workers.map(({ ended }) => ended));
  } finally {
    await program.remove();
  }
  print(`${ran} runs in ${seconds().toFixed(0)} s, ${(ran / seconds()).toFixed(1)} a second.`);
  return found;
}

function show({ seed, drop, broken, lines }: Broken, without: string | undefined): void {
  const { parts, ...rest } = planOf(seed);
  print(
    `\nSeed ${seed} breaks a promise:\n  ${broken.join('\n  ')}\n\nWith these parts left of its plan:`,
  );
  parts.forEach((part, index) => !drop.includes(index) && print(`  ${JSON.stringify(part)}`));
  print(
    `  ${JSON.stringify(rest, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`,
  );
  print(`\n${lines.slice(-200).join('\n')}`);
  const mend = without === undefined ? '' : ` --without ${without}`;
  print(
    `\nReplay it: npm run simulate -- --seed ${seed}${drop.length === 0 ? '' : ` --drop ${drop.join(',')}`}${mend}`,
  );
}

if (values.without === 'every') {
  for (const { name } of mends) {
    const found = await search(name);
    print(
      found === undefined
        ? `MISSED without ${name}\n`
        : `found without ${name}: ${found.broken[0]}\n`,
    );
    if (found === undefined) process.exitCode = 1;
  }
} else {
  const found = await search(values.without);
  if (found !== undefined) {
    show(found, values.without);
    process.exitCode = 1;
  }
}
