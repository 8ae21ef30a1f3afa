import type { Sandbox } from 'exact-change-sandbox';
import type { Kill } from './points.js';

/**
 * How long the facilitator thinks before it does its part: long enough for the process that waits
 * for it to be killed.
 */
const PATIENCE_MS = 500;

interface Watch {
  /** Whether the moment has come. */
  readonly isTime: () => Promise<boolean>;
  /** Makes the peers as fast as they were. */
  readonly calm: () => void;
}

/**
 * Watches for what only the peers of a process see of its work; nothing for an edge that the
 * process passes by itself.
 */
export function watchFor(
  sandbox: Sandbox,
  wallet: string,
  merchantHeld: bigint,
  { edge }: Kill,
): Watch | undefined {
  const { facilitator } = sandbox.controls;
  const usdc = (owner: string) => sandbox.balance(owner, 'USDC');
  const call = (endpoint: string): Watch => {
    const before = facilitator.calls(endpoint);
    facilitator.setLatency(PATIENCE_MS, endpoint);
    return {
      isTime: async () => facilitator.calls(endpoint) > before,
      calm: () => facilitator.setLatency(0, endpoint),
    };
  };
  switch (edge) {
    case 'facilitator verifies':
      return call('/verify');
    case 'facilitator settles':
      return call('/settle');
    // Half way to its confirmation, a transaction is processed.
    case 'payment is processed':
      return {
        isTime: async () => (await usdc(sandbox.merchant)) > merchantHeld,
        calm: () => undefined,
      };
    case 'swap is processed':
      return { isTime: async () => (await usdc(wallet)) > 0n, calm: () => undefined };
    default:
      return undefined;
  }
}
