import { ceilDiv, maxAmount } from '../amount.js';
import { isExactChangeError } from '../errors.js';
import { pinnedMint } from '../network.js';
import { USD_DECIMALS } from '../policy/policy.js';
import type { Address } from '../solana/types.js';
import type { Core } from './core.js';

interface Price {
  readonly amount: bigint;
  readonly microUsd: bigint;
  readonly at: number;
}

// Caps bound spending, they do not trade: a price of the last minute will do.
const PRICE_MAX_AGE_MS = 60_000;
const KEPT = 1_000;
const prices = new WeakMap<Core, Map<Address, Price>>();

/**
 * What an amount is worth in millionths of a dollar, rounded up: par for pinned dollar tokens, a quote to USDC for others.
 * Undefined where there is no price; rejects where Jupiter could not be asked.
 */
export async function valueOf(
  core: Core,
  mint: Address,
  amount: bigint,
  decimals: number,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  const { network, runtime } = core.config;
  if (pinnedMint(network, mint)?.dollar === true) return scale(amount, decimals);
  const known = pricesOf(core).get(mint);
  if (known !== undefined && runtime.now() - known.at <= PRICE_MAX_AGE_MS)
    return maxAmount(1n, ceilDiv(amount * known.microUsd, known.amount));
  const usdc = pinnedMint(network, 'USDC');
  if (usdc === undefined) return undefined;
  try {
    const quote = await core.transport.quote({ inputMint: mint, outputMint: usdc.mint, amount, swapMode: 'ExactIn' }, { signal });
    const microUsd = scale(BigInt(quote.outAmount), usdc.decimals);
    // Too little to have a price: worth less than the smallest unit that is counted.
    if (microUsd === 0n) return 1n;
    remember(pricesOf(core), mint, { amount, microUsd, at: runtime.now() });
    return microUsd;
  } catch (error) {
    if (isExactChangeError(error, 'no_route')) return undefined;
    throw error;
  }
}

function scale(amount: bigint, decimals: number): bigint {
  return decimals <= USD_DECIMALS
    ? amount * 10n ** BigInt(USD_DECIMALS - decimals)
    : ceilDiv(amount, 10n ** BigInt(decimals - USD_DECIMALS));
}

function pricesOf(core: Core): Map<Address, Price> {
  let known = prices.get(core);
  if (known === undefined) prices.set(core, (known = new Map()));
  return known;
}

function remember(known: Map<Address, Price>, mint: Address, price: Price): void {
  if (known.size >= KEPT) known.clear();
  known.set(mint, price);
}
