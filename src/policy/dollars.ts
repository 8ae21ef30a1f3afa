import { formatUiAmount } from '../amount.js';

/** Decimals of a dollar amount inside the library. */
export const USD_DECIMALS = 6;

/** Millionths of a dollar as text: `1250000n` is `"1.25"`. */
export function formatUsd(microUsd: bigint): string {
  return formatUiAmount(microUsd, USD_DECIMALS);
}
