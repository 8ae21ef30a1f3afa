import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, it } from 'vitest';
import { buildChild, type ChildProgram } from './child-program.js';
import { points } from './points.js';
import { survive } from './survive.js';

/** Registers a test for each point of the group, all on one sandbox. */
export function killAt(group: keyof typeof points): void {
  let sandbox: Sandbox;
  let program: ChildProgram;
  beforeAll(async () => {
    program = await buildChild();
    // The chain stands still, so nothing expires before a test warps it.
    sandbox = await createSandbox({ slotMs: 0 });
  });
  afterAll(async () => {
    await sandbox.close();
    await program.remove();
  });
  it.each(points[group].map((point, ordinal) => [point.name, point, ordinal] as const))(
    'buys once and keeps all books after kill -9 (%s)',
    (_, point, ordinal) => survive(sandbox, program, point, ordinal),
  );
}
