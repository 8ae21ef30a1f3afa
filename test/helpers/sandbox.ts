import { createSandbox, type Sandbox, type SandboxOptions } from 'exact-change-sandbox';
import { afterAll, afterEach } from 'vitest';
import { closePayers } from './payer.js';

/**
 * Makes a sandbox for the tests of a file. After each test it clears all faults and closes the
 * test's payers; after the last test it closes the sandbox. Call it at the top of the file, before
 * other hooks, because Vitest runs the last registered hook first.
 */
export async function useSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  afterEach(async () => {
    const { node, aggregator, facilitator, relayer, api } = sandbox.controls;
    aggregator.restore();
    relayer.restore();
    for (const control of [node, facilitator, api]) control.clearFaults();
    node.webSocket = 'on';
    node.intercept = undefined;
    await facilitator.start();
    await closePayers();
  });
  afterAll(() => sandbox.close());
  return sandbox;
}
