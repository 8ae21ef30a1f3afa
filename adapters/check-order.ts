import { readAddress } from '../src/policy/read.js';
import { checkFields } from '../src/swaps/quote/check-quote.js';
import type { SwapQuote } from '../src/swaps/types.js';

/** Throws `invalid_option`. */
export function checkWallet(wallet: unknown): void {
  readAddress('wallet', wallet, 'the base58 address of a wallet');
}

/**
 * A quote comes back from the caller, which may have made another of it. Throws `invalid_option`,
 * or `quote_mismatch`.
 */
export function checkOrder(wallet: unknown, quote: SwapQuote): void {
  checkWallet(wallet);
  checkFields(quote);
  for (const side of ['inputMint', 'outputMint'] as const)
    readAddress(`quote.${side}`, quote[side], 'the address of a mint');
}
