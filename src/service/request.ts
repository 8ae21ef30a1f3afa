import { minAmount, parseAmount } from '../amount.js';
import type { LocalSettings } from '../config/options.js';
import { readSwapFrom, readWhole } from '../policy/read.js';
import { cleanText } from '../errors.js';
import { refuse } from '../internal/options.js';
import { parseUrl } from '../internal/parse.js';
import { checkOrigin } from '../payments/plan/request-problem.js';
import type { PaymentRequired } from '../protocols/types.js';
import { isAddress } from '../solana/address.js';
import type { Address } from '../solana/types.js';
import type { AutoPayRequest } from '../transport.js';

/** Returns the settings for one request, which may narrow them but never widen them. */
export function narrowed(settings: LocalSettings, request: AutoPayRequest): LocalSettings {
  const { policy } = settings;
  const { slippageBps = policy.maxSlippageBps } = request;
  return {
    ...settings,
    swapFrom: narrowList(settings, request.swapFrom),
    policy: {
      ...policy,
      maxAmount: withinBoth(policy.maxAmount, limitsOf(request)),
      maxSlippageBps: Math.min(
        policy.maxSlippageBps,
        readWhole('slippageBps', slippageBps, 10_000),
      ),
      // A requested amount is exact, so it is not rounded up to the least swap.
      minSwap: swapAmountOf(request) === undefined ? policy.minSwap : 0n,
    },
  };
}

/**
 * Returns the seller's address and host; both empty without a url. All spellings of an address have
 * the same result. Throws `insecure_origin`, `invalid_option`.
 */
export function placeOf({ url }: PaymentRequired): { readonly url: string; readonly host: string } {
  if (url === undefined) return { url: '', host: '' };
  if (parseUrl(url) === undefined)
    throw refuse('paymentRequired.url', 'must be an absolute address.');
  const place = checkOrigin(url);
  // The fragment is never sent.
  place.hash = '';
  return { url: place.href, host: place.host };
}

/** Returns the base units that the swap must bring; undefined if the service decides. */
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
  { swapFrom: allowed, network }: LocalSettings,
  requested: AutoPayRequest['swapFrom'],
): readonly Address[] | undefined {
  const mints = readSwapFrom(requested, network);
  if (allowed === undefined || mints === undefined) return mints ?? allowed;
  return mints.filter((mint) => allowed.includes(mint));
}

function limitsOf({ limits = {} }: AutoPayRequest): [string, bigint][] {
  return Object.entries(limits).map(([mint, text]) => {
    const amount = parseAmount(text);
    if (!isAddress(mint) || amount === undefined)
      throw refuse(
        `limits.${cleanText(mint).slice(0, 50)}`,
        'must be base units as a decimal string, by the address of a mint.',
      );
    return [mint, amount];
  });
}

/**
 * Returns the lower of both limits for each mint. A limit that only the request gives allows no
 * payment without a price, so a plan has to check the operator's own policy too.
 */
function withinBoth(
  limits: ReadonlyMap<string, bigint>,
  requested: readonly (readonly [string, bigint])[],
): ReadonlyMap<string, bigint> {
  const caps = new Map(limits);
  for (const [mint, limit] of requested)
    caps.set(mint, minAmount(limit, limits.get(mint) ?? limit));
  return caps;
}
