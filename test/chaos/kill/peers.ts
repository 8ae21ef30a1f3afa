import type { Sandbox } from 'exact-change-sandbox';
import type { Kill } from './points.js';

/** Delay of the facilitator's work: long enough to kill the process that waits for it. */
const PATIENCE_MS = 500;

interface Watch {
  /** Returns whether the moment to kill has come. */
  readonly isTime: () => Promise<boolean>;
  /** Removes the delay of the peers. */
  readonly calm: () => void;
}

/**
 * Watches for an edge that only the peers of a process see. Returns undefined for an edge that the
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
    // A transaction is processed half way to its confirmation.
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
