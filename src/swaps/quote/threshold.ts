import { ceilDiv } from '../../amount.js';

const WHOLE = 10_000n;

/** The least that an `ExactIn` swap pays out: what was quoted less slippage, rounded down. */
export function leastOut(quotedOut: bigint, slippageBps: number): bigint {
  return (quotedOut * (WHOLE - BigInt(slippageBps))) / WHOLE;
}

/** The most that an `ExactOut` swap takes: what was quoted plus slippage, rounded up. */
export function mostIn(quotedIn: bigint, slippageBps: number): bigint {
  return ceilDiv(quotedIn * (WHOLE + BigInt(slippageBps)), WHOLE);
}
