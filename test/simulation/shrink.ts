import type { Broken } from './judge.js';
import type { Plan } from './plan.js';
import { run } from './run.js';

const MOST_MS = 60_000;

/** Returns the indexes of parts without which the plan still breaks the same promise. */
export async function shrink(
  plan: Plan,
  broken: readonly Broken[],
  { now }: { now(): number },
): Promise<number[]> {
  const end = now() + MOST_MS;
  const promises = new Set(broken.map(({ promise }) => promise));
  const dropped = new Set<number>();
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (let index = plan.parts.length - 1; index >= 0 && now() < end; index -= 1) {
      if (dropped.has(index)) continue;
      const parts = plan.parts.filter((_, part) => part !== index && !dropped.has(part));
      const outcome = await run({ ...plan, parts });
      if (!outcome.broken.some(({ promise }) => promises.has(promise))) continue;
      dropped.add(index);
      isSmaller = true;
    }
  }
  return [...dropped].sort((a, b) => a - b);
}
