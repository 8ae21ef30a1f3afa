import { it } from 'vitest';
import { MATRIX, nameOf, type Fault, type FaultOf, type Step } from './cells.js';
import { settle } from './settle.js';
import type { World, Worlds } from './world.js';

/**
 * Lets the fault meet the step, and expects the caller's outcome. `settle` then compares chain,
 * journal and merchant.
 */
export type Scenario = (world: World, controls: World['sandbox']['controls']) => Promise<void>;

/** Registers the tests of a row: a scenario for exactly the faults that can meet the step. */
export function row<S extends Step>(
  worlds: Worlds,
  step: S,
  scenarios: { readonly [F in FaultOf<S>]: Scenario },
): void {
  // The compiler refuses other keys, so the cast is safe.
  const entries = Object.entries(scenarios) as [FaultOf<S>, Scenario][];
  for (const [fault, scenario] of entries) {
    it(titleOf(step, fault), async () => {
      const world = await worlds.open();
      await scenario(world, world.sandbox.controls);
      await settle(world);
    });
  }
}

function titleOf(step: Step, fault: Fault): string {
  return `${nameOf(step, fault)}: ${MATRIX[step].cells[fault]}`;
}
