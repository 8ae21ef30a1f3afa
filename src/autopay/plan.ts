import type { OfferRefusal } from '../errors.js';
import { formatUiAmount } from '../amount.js';
import { untilAborted } from '../deadline.js';
import { capUse, rollingCaps, type CapUse } from '../policy/caps.js';
import { formatUsd } from '../policy/policy.js';
import type { Call } from '../request.js';
import type { SwapQuote } from '../swap/types.js';
import type { PaymentRequired, X402Version } from '../x402/types.js';
import { choose } from './choose.js';
import type { Core } from './core.js';
import { ownerOf } from './owner.js';

/** What paying for a call would take. JSON-safe; amounts are decimal strings of base units. */
export interface Plan {
  readonly url: string;
  readonly method: string;
  /** Of the unpaid answer. */
  readonly status: number;
  /** What would be paid; absent where the call asks for no payment. */
  readonly payment?: {
    readonly x402Version: X402Version;
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    readonly uiAmount: string;
    readonly payTo: string;
    readonly feePayer: string;
    /** US dollars as decimal text; absent where the mint has no price. */
    readonly usd?: string;
    /** What the wallet can spend of the mint now. */
    readonly available: string;
  };
  /** The swap that would come first, where the wallet holds too little. Absent also where SOL would only be wrapped. */
  readonly swap?: Omit<SwapQuote, 'raw'>;
  /** The entries of `accepts` that would not be paid, and why. */
  readonly refused: readonly OfferRefusal[];
  /** The most lamports that the swap's network fee may take; the payment's own is the facilitator's. */
  readonly maxFeeLamports: string;
  /** The rolling caps as they stand before it. */
  readonly caps: readonly CapUse[];
}

/** Chooses and quotes, and leaves everything as it was. Throws what the real call would throw. */
export async function makePlan(core: Core, call: Call, unpaid: Response, terms: PaymentRequired | undefined): Promise<Plan> {
  const { policy, runtime } = core.config;
  const rolling = rollingCaps(policy);
  const used = await core.journal.used(ownerOf(core), rolling, runtime.now());
  const base = {
    url: unpaid.url === '' ? call.url : unpaid.url,
    method: call.method,
    status: unpaid.status,
    caps: rolling.map((cap, index) => capUse(cap, used[index] ?? 0n)),
  };
  if (terms === undefined) return { ...base, refused: [], maxFeeLamports: '0' };
  await untilAborted(core.ready(), call.signal);
  const { offer, facts, microUsd, funding, refused } = await choose(core, terms, { signal: call.signal, quote: true });
  return {
    ...base,
    payment: {
      x402Version: offer.x402Version,
      network: offer.network,
      mint: offer.mint,
      amount: offer.amount.toString(),
      decimals: facts.decimals,
      uiAmount: formatUiAmount(offer.amount, facts.decimals),
      payTo: offer.payTo,
      feePayer: offer.feePayer,
      ...(microUsd === undefined ? {} : { usd: formatUsd(microUsd) }),
      available: facts.available.toString(),
    },
    ...(funding === undefined || !('quote' in funding) ? {} : { swap: withoutRaw(funding.quote) }),
    refused,
    maxFeeLamports: (funding === undefined ? 0n : policy.maxFeeLamports).toString(),
  };
}

function withoutRaw({ raw: _raw, ...quote }: SwapQuote): Omit<SwapQuote, 'raw'> {
  return quote;
}
