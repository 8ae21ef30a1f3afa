import { readAddress } from '../src/policy/read.js';
import { checkFields } from '../src/swaps/quote/check-quote.js';
import type { SwapQuote } from '../src/swaps/types.js';

/** Throws `invalid_option` if the value is no wallet address. */
export function checkWallet(wallet: unknown): void {
  readAddress('wallet', wallet, 'the base58 address of a wallet');
}

/**
 * Checks a wallet and a quote that comes back from the caller, because the caller may have changed
 * the quote. Throws `invalid_option`, or `quote_mismatch`.
 */
export function checkOrder(wallet: unknown, quote: SwapQuote): void {
  checkWallet(wallet);
  checkFields(quote);
  for (const side of ['inputMint', 'outputMint'] as const)
    readAddress(`quote.${side}`, quote[side], 'the address of a mint');
}
