import { parseUiAmount } from '../../amount.js';
import { refuse } from '../../internal/options.js';
import { pinnedMint } from '../../network.js';
import { readMint } from '../../policy/read.js';
import { mintAt } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { SwapRequest, UiSwapRequest } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';

/** Reads the decimals of a mint that is not pinned from the client's own node. */
export async function inBaseUnits(
  context: PaymentContext,
  request: SwapRequest | UiSwapRequest,
  signal: AbortSignal | undefined,
): Promise<SwapRequest> {
  if (request.uiAmount === undefined) return request;
  const { uiAmount, ...rest } = request;
  // The types exclude this, but a JavaScript caller may give both fields.
  if ('amount' in rest && typeof rest.amount !== 'undefined')
    throw refuse('uiAmount', 'excludes amount. Give one.');
  const side = rest.swapMode === 'ExactOut' ? 'outputMint' : 'inputMint';
  const mint = readMint(side, rest[side], context.config.network);
  const decimals = await decimalsOf(context, mint, signal);
  const units = parseUiAmount(uiAmount, decimals);
  if (units === undefined)
    throw refuse(
      'uiAmount',
      `must be decimal text such as "0.25", with at most ${decimals} digits after the point.`,
    );
  return { ...rest, amount: units };
}

async function decimalsOf(
  { config, rpc }: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
): Promise<number> {
  const pinned = pinnedMint(config.network, mint);
  if (pinned !== undefined) return pinned.decimals;
  const { accounts } = await rpc.accounts([mint], { signal });
  return mintAt(mint, accounts[0]).decimals;
}
