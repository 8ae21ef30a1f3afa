import { planOf } from './plan.js';
import { run } from './run.js';
import { shrink } from './shrink.js';

/** Orders of a worker, as JSON in its first argument. */
export interface Orders {
  readonly seed: number;
  readonly step: number;
  /** Milliseconds of real time to run. */
  readonly ms: number;
  readonly runs: number;
  /** Indexes of the plan's parts to leave out. */
  readonly drop: readonly number[];
  readonly trace: boolean;
}

/** A report of a worker, a line of JSON. */
export type Report =
  | { readonly kind: 'ran'; readonly seed: number; readonly hash: string; readonly ms: number }
  /** A promise is broken; the worker now shrinks the plan. */
  | { readonly kind: 'suspect'; readonly seed: number }
  | {
      readonly kind: 'broken';
      readonly seed: number;
      readonly drop: readonly number[];
      readonly broken: readonly string[];
      readonly lines: readonly string[];
    };

const clock = { now: Date.now.bind(Date) };

async function work({ seed, step, ms, runs, drop, trace }: Orders): Promise<void> {
  const say = (report: Report) => void process.stdout.write(`${JSON.stringify(report)}\n`);
  // Run once before, so that values that a process makes once do not change the first run.
  await run(planOf(0));
  const end = clock.now() + ms;
  for (let count = 0; count < runs && clock.now() < end; count += 1) {
    const now = seed + count * step;
    const started = clock.now();
    const plan = without(now, drop);
    const outcome = await run(plan);
    say({ kind: 'ran', seed: now, hash: outcome.hash, ms: clock.now() - started });
    if (trace) process.stdout.write(`${outcome.lines.join('\n')}\n`);
    if (outcome.broken.length === 0) continue;
    say({ kind: 'suspect', seed: now });
    const left = drop.length > 0 ? drop : await shrink(plan, outcome.broken, clock);
    const least = left === drop ? outcome : await run(without(now, left));
    const broken = least.broken.map(({ promise, how }) => `${promise}: ${how}`);
    say({ kind: 'broken', seed: now, drop: left, broken, lines: least.lines });
    return;
  }
}

function without(seed: number, drop: readonly number[]) {
  const plan = planOf(seed);
  return { ...plan, parts: plan.parts.filter((_, index) => !drop.includes(index)) };
}

const orders = JSON.parse(process.argv[2] ?? '{}') as Orders; // main.ts wrote it.
void work(orders).then(() => process.exit(0));
