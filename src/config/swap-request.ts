import { toAmount } from '../amount.js';
import { refuse } from '../internal/options.js';
import type { Policy } from '../policy/policy.js';
import { readMint } from '../policy/read.js';
import type { SwapMode, SwapRequest } from '../swaps/types.js';

/** A swap request with addresses as its mints, and with its amount, mode and slippage set. */
export interface ResolvedRequest extends SwapRequest {
  readonly amount: string;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
}

const SWAP_MODES: readonly string[] = ['ExactIn', 'ExactOut'];

/** Checks a swap request and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parseSwapRequest(
  request: SwapRequest,
  { network, policy }: { readonly network: string; readonly policy: Policy },
): ResolvedRequest {
  const amount = toAmount(request.amount);
  if (amount === undefined || amount === 0n)
    throw refuse('amount', 'must be base units above 0, as a bigint or a whole number as text.');
  const { swapMode = 'ExactIn', slippageBps = policy.maxSlippageBps, maxAccounts } = request;
  if (!SWAP_MODES.includes(swapMode)) throw refuse('swapMode', 'must be "ExactIn" or "ExactOut".');
  if (!Number.isInteger(slippageBps) || slippageBps < 0 || slippageBps > policy.maxSlippageBps) {
    throw refuse(
      'slippageBps',
      `must be a whole number from 0 to policy.maxSlippageBps (${policy.maxSlippageBps}).`,
    );
  }
  if (
    maxAccounts !== undefined &&
    (!Number.isInteger(maxAccounts) || maxAccounts < 1 || maxAccounts > 64)
  ) {
    throw refuse('maxAccounts', 'must be a whole number from 1 to 64.');
  }
  const inputMint = readMint('inputMint', request.inputMint, network);
  const outputMint = readMint('outputMint', request.outputMint, network);
  if (inputMint === outputMint) throw refuse('outputMint', 'must be another token than inputMint.');
  return {
    inputMint,
    outputMint,
    amount: amount.toString(),
    swapMode,
    slippageBps,
    ...(maxAccounts === undefined ? {} : { maxAccounts }),
  };
}
