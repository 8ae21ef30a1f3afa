import { createSandbox, type Sandbox, type SandboxOptions } from 'exact-change-sandbox';
import { afterAll, afterEach } from 'vitest';
import { closePayers } from './payer.js';

/**
 * A sandbox for the tests of a file. After each test all of it works again, and the payers of that
 * test are closed; after the last it is closed. To be called at the top of the file, before other
 * hooks: those that are called last come first.
 */
export async function useSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  afterEach(async () => {
    const { node, aggregator, facilitator, relayer, api } = sandbox.controls;
    aggregator.restore();
    relayer.restore();
    for (const one of [node, facilitator, api]) one.clearFaults();
    node.webSocket = 'on';
    node.intercept = undefined;
    await facilitator.start();
    await closePayers();
  });
  afterAll(() => sandbox.close());
  return sandbox;
}
