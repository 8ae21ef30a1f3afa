import { createSandbox, type Sandbox, type SandboxOptions } from 'exact-change-sandbox';
import { afterAll, afterEach } from 'vitest';
import { closePayers } from './payer.js';

/**
 * Slots as slow as mainnet's, for payments across processes: a blockhash expires after a minute.
 * With the sandbox's own slots it expires after 15 s, which a busy machine may take.
 */
export const MAINNET_SLOT_MS = 400;

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
