import { it } from 'vitest';
import { MATRIX, nameOf, type Fault, type FaultOf, type Step } from './cells.js';
import { settle } from './settle.js';
import type { World, Worlds } from './world.js';

/**
 * Lets the fault meet the step, and says what the caller must see of it. What chain, journal and
 * merchant must show is compared afterwards.
 */
export type Scenario = (world: World) => Promise<void>;

/** The tests of one row: a scenario for each fault that the step can meet, and for no other. */
export function row<S extends Step>(
  worlds: Worlds,
  step: S,
  scenarios: { readonly [F in FaultOf<S>]: Scenario },
): void {
  // Its keys are its type's: the compiler refuses any other.
  const entries = Object.entries(scenarios) as [FaultOf<S>, Scenario][];
  for (const [fault, scenario] of entries) {
    it(titleOf(step, fault), async () => {
      const world = await worlds.open();
      await scenario(world);
      await settle(world);
    });
  }
}

function titleOf(step: Step, fault: Fault): string {
  return `${nameOf(step, fault)}: ${MATRIX[step].cells[fault]}`;
}
