import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, it } from 'vitest';
import { buildChild, type ChildProgram } from './child-program.js';
import { points } from './points.js';
import { survive } from './survive.js';

/** One test for each point of a group, on one sandbox. */
export function killAt(group: keyof typeof points): void {
  let sandbox: Sandbox;
  let program: ChildProgram;
  beforeAll(async () => {
    program = await buildChild();
    // A chain that stands still: nothing expires before it is told to.
    sandbox = await createSandbox({ slotMs: 0 });
  });
  afterAll(async () => {
    await sandbox.close();
    await program.remove();
  });
  it.each(points[group].map((point, ordinal) => [point.name, point, ordinal] as const))(
    '%s',
    (_, point, ordinal) => survive(sandbox, program, point, ordinal),
  );
}
