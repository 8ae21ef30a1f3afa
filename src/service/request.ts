import { minAmount, parseAmount } from '../amount.js';
import type { LocalSettings } from '../config/options.js';
import { parseSwapFrom } from '../config/swap-from.js';
import { cleanText, type ConfigError } from '../errors.js';
import { refuse } from '../internal/options.js';
import { isAddress } from '../solana/address.js';
import type { Address } from '../solana/types.js';
import type { AutoPayRequest } from '../transport.js';

/**
 * The service's settings for one request: what is asked for narrows them, and never widens them.
 * Throws `ConfigError` (`invalid_option`).
 */
export function narrowed(settings: LocalSettings, request: AutoPayRequest): LocalSettings {
  const { policy } = settings;
  return {
    ...settings,
    swapFrom: narrowList(settings, request.swapFrom),
    policy: {
      ...policy,
      maxAmount: withinBoth(policy.maxAmount, limitsOf(request)),
      maxSlippageBps: Math.min(policy.maxSlippageBps, slippageOf(request) ?? policy.maxSlippageBps),
      // An amount that is asked for is not rounded up.
      minSwap: swapAmountOf(request) === undefined ? policy.minSwap : 0n,
    },
  };
}

/**
 * Base units that the swap has to bring; undefined if the service decides. Throws `ConfigError`
 * (`invalid_option`).
 */
export function swapAmountOf({
  autoSwap = false,
  swapAmount,
  signedSwap,
}: AutoPayRequest): bigint | undefined {
  if (swapAmount === undefined) return undefined;
  const amount = parseAmount(swapAmount);
  if (amount === undefined || amount === 0n)
    throw refuse('swapAmount', 'must be base units above 0, as a decimal string.');
  return autoSwap && signedSwap === undefined ? amount : undefined;
}

function narrowList(
  { swapFrom: own, network }: LocalSettings,
  asked: AutoPayRequest['swapFrom'],
): readonly Address[] | undefined {
  const mints = parseSwapFrom(asked, network);
  if (own === undefined || mints === undefined) return mints ?? own;
  return mints.filter((mint) => own.includes(mint));
}

function slippageOf({ slippageBps }: AutoPayRequest): number | undefined {
  if (
    slippageBps === undefined ||
    (Number.isInteger(slippageBps) && slippageBps >= 0 && slippageBps <= 10_000)
  )
    return slippageBps;
  throw refuse('slippageBps', 'must be a whole number from 0 to 10000.');
}

function limitsOf({ limits = {} }: AutoPayRequest): [string, bigint][] {
  return Object.entries(limits).map(([mint, text]) => {
    const amount = parseAmount(text);
    if (!isAddress(mint) || amount === undefined) throw wrongLimit(mint);
    return [mint, amount];
  });
}

function wrongLimit(mint: string): ConfigError {
  return refuse(
    `limits.${cleanText(mint).slice(0, 50)}`,
    'must be base units as a decimal string, by the address of a mint.',
  );
}

function withinBoth(
  own: ReadonlyMap<string, bigint>,
  asked: readonly (readonly [string, bigint])[],
): ReadonlyMap<string, bigint> {
  const caps = new Map(own);
  for (const [mint, limit] of asked) caps.set(mint, minAmount(limit, own.get(mint) ?? limit));
  return caps;
}
