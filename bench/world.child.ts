import { createSandbox, type MintSymbol, type Sandbox } from 'exact-change-sandbox';
import { answer } from './process.js';
import { startQuickSeller } from './quick-seller.js';

// Runs the chain, aggregator, facilitator and sellers in another process than the measured clients.

/** Mainnet's slot time, because it decides how long a blockhash is recent. */
const SLOT_MS = 400;

let sandbox: Sandbox | undefined;
const running = (): Sandbox => {
  if (sandbox === undefined) throw new Error('The sandbox is not open.');
  return sandbox;
};

const world = {
  async open(confirmationMs: number) {
    sandbox = await createSandbox({ confirmationMs, slotMs: SLOT_MS });
    const { rpcUrl, jupiterUrl, apiUrl } = sandbox;
    return { rpcUrl, jupiterUrl, apiUrl, quickUrl: await startQuickSeller(sandbox) };
  },
  wallet: async (funds: Partial<Record<MintSymbol, string>>) => running().createWallet(funds),
  /** Sets the milliseconds that the node takes for `caller`, and the aggregator for all callers. */
  latency(caller: string, ms: number, jupiterMs = 0) {
    running().controls.node.callerLatencyMs.set(caller, ms);
    running().controls.aggregator.setLatency(jupiterMs);
  },
  nodeCalls: (caller: string) => running().controls.node.callsByMethod(caller),
  resetCalls: () => running().controls.node.resetCalls(),
};

export type World = typeof world;
answer(world);
