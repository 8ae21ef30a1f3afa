import { AccountRole, address, type AccountMeta } from '@solana/kit';
import type { Sandbox, VenueBehaviour } from 'exact-change-sandbox';
import { afterAll } from 'vitest';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { useSandbox } from './sandbox.js';

export const ATTACKER = address('Attack1111111111111111111111111111111111112');
export const SYSTEM: AccountMeta = {
  address: address('11111111111111111111111111111111'),
  role: AccountRole.READONLY,
};

/**
 * Makes a sandbox, with a venue that a test turns hostile. The clock stands still unless a test
 * moves it, so a venue that is hostile by the clock cannot turn hostile by chance.
 */
export async function useVenue(seed: string): Promise<{
  readonly sandbox: Sandbox;
  readonly rpc: Rpc;
  setVenue(behaviour: VenueBehaviour): void;
}> {
  const sandbox = await useSandbox({ seed, confirmationMs: 0, slotMs: 0 });
  const rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 60_000 });
  afterAll(() => rpc.close());
  // The attacker's wallet needs some SOL to exist, so that it can receive SOL.
  sandbox.chain.fundSol(ATTACKER, 10_000_000n);
  return {
    sandbox,
    rpc,
    setVenue: (behaviour) =>
      sandbox.controls.aggregator.setVenue({ attacker: ATTACKER, ...behaviour }),
  };
}
