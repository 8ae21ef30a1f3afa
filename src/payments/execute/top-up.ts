import { minAmount } from '../../amount.js';
import type { Emit } from '../../events.js';
import { untilAborted } from '../../internal/abort.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { findFunding, type Funding } from '../plan/funding.js';
import { readHoldings } from '../plan/holdings.js';
import { knownAvailable } from '../plan/offer-accounts.js';
import { planOfSwap } from '../plan/plan.js';
import { floatOf } from '../plan/usd-price.js';
import { finishOpenSwaps } from '../reconcile/open-swaps.js';
import { resumeOnce } from '../reconcile/resume-once.js';
import { approvalFor } from './ask-approval.js';
import { swapCounted } from './counted-swap.js';
import { swapLock } from './fund.js';
import { swapFromBest } from './swap-and-hold.js';

/**
 * Makes a swap that brings the wallet to the balance of `policy.topUp`, if it holds too little. If
 * no cap has room, makes a smaller swap. It holds the lock for swaps into the mint, also against
 * other processes: each swap finds the tokens of the swap before, and a payment that lacks the
 * token waits.
 *
 * @returns Whether the wallet then holds enough.
 */
export async function topUp(context: PaymentContext, id: string, emit: Emit): Promise<boolean> {
  const { config, closing, locks } = context;
  const { policy, signer } = config;
  const rule = policy.topUp;
  if (rule === undefined) return true;
  const { mint, tokenProgram, decimals, below, to } = rule;
  const { signal } = closing;
  const source = associatedTokenAddress(signer.address, mint, tokenProgram);
  const bring = async () => {
    await finishOpenSwaps(context, mint, { emit, signal, moved: [] });
    const known = () => knownAvailable(context, source);
    if ((await known()) === undefined) await readHoldings(context, [rule], signal);
    const available = (await known()) ?? 0n;
    if (available >= below) return true;
    const facts = { source, decimals, available };
    const wanted = {
      mint,
      least: minAmount(to, available + (await floatOf(context, mint, decimals, signal))),
      find: (needed: bigint = to, within: AbortSignal | undefined, except: ReadonlySet<string>) =>
        findFunding(context, rule, facts, needed, {
          ...{ signal: within, except, exact: true, beside: true },
        }),
      beside: true,
    };
    const place = { url: topUpUrl(mint), method: 'SWAP', status: 0 };
    const attempt = { id, url: place.url, mint };
    const { record } = await swapCounted(context, attempt, signal, (reservation) => {
      const planFor = (funding: Funding | undefined) =>
        planOfSwap(context, place, reservation.attempt, funding, signal, true);
      const approve = approvalFor(context, planFor, signal);
      return swapFromBest(context, wanted, facts, { emit, signal, reservation, approve });
    });
    return available + BigInt(record.outAmount) >= below;
  };
  await untilAborted(Promise.all([context.ready(), resumeOnce(context)]), signal);
  return locks.hold([swapLock(mint)], bring, [signal]);
}

/** Returns the URL on record of an attempt that tops up. */
export function topUpUrl(mint: Address): string {
  return `top-up:${mint}`;
}
