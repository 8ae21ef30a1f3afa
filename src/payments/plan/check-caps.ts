import { WSOL_MINT } from '../../network.js';
import { capsFor, takenOf, type Cap, type Spend } from '../../policy/caps.js';
import { noSwapCost, type SwapCost } from '../../policy/cost.js';
import { blockedBy } from '../../policy/over-budget.js';
import { assertPayable } from '../../policy/refusals.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import { newAccountRent } from '../../swaps/accounts/read-wallet.js';
import { swapLimits } from '../../swaps/transaction/finish.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { recovery } from '../on-demand.js';
import { PRICE_MEMORY_MS } from './ask-price.js';
import type { Funding } from './funding.js';
import { noneIfFailed } from './none-if-failed.js';
import { usdPriceOf } from './usd-price.js';

/**
 * Throws what the call would throw if the sure part of a spend does not fit the caps: its price,
 * and of its swap the count, one signature and the rent of the wallet's new account. What else the
 * swap takes shows only once it is built: a smaller swap may fit.
 */
export async function checkCaps(
  context: PaymentContext,
  spend: Spend,
  funding: Funding | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { policy } = context.config;
  await checkRoom(context, spend, signal);
  if (funding === undefined) return;
  swapLimits(policy);
  const next = { ...spend, swapping: await leastOf(context, spend, signal) };
  assertPayable(policy, next);
  await checkRoom(context, next, signal);
}

async function checkRoom(
  context: PaymentContext,
  spend: Spend,
  signal: AbortSignal | undefined,
): Promise<void> {
  const block = await blockOf(context, spend);
  if (block === undefined) return;
  // As the call does: orphaned attempts must not consume budget.
  const { freeOrphanedBudget } = await recovery(signal);
  const last = (await freeOrphanedBudget(context)) ? await blockOf(context, spend) : block;
  if (last !== undefined) throw blockedBy(last, spend);
}

async function blockOf(
  context: PaymentContext,
  spend: Spend,
): Promise<{ cap: Cap; used: bigint } | undefined> {
  const { policy, runtime } = context.config;
  const caps = capsFor(policy, spend);
  const uses = await context.journal.used(ownerOf(context), caps, runtime.now());
  return caps
    .map((cap, index) => ({ cap, used: uses[index] ?? 0n }))
    .find(({ cap, used }) => takenOf(cap, spend) > 0n && used + takenOf(cap, spend) > cap.limit);
}

/**
 * Returns the least that a swap into the mint of a spend counts. Without a price of SOL, its lamports
 * count no dollars.
 */
async function leastOf(
  context: PaymentContext,
  { mint }: Spend,
  signal: AbortSignal | undefined,
): Promise<SwapCost> {
  const { config, rpc } = context;
  // A relayer may pay the lamports.
  if (config.relayer !== undefined) return { ...noSwapCost, swaps: 1 };
  const [rent, sol] = await Promise.all([
    newAccountRent(rpc, config.signer.address, mint, { signal }),
    usdPriceOf(context, WSOL_MINT, signal, undefined, PRICE_MEMORY_MS).catch(noneIfFailed),
  ]);
  const lamports = SIGNATURE_LAMPORTS + rent;
  const feeMicroUsd = (sol?.most(lamports) ?? 0n).toString();
  return { ...noSwapCost, swaps: 1, lamports: lamports.toString(), feeMicroUsd };
}
