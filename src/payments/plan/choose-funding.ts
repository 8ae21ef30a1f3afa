import { sumAmounts } from '../../amount.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import type { Offer } from '../../protocols/types.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import { creationCost } from '../../swaps/accounts/own-account.js';
import { accountBytes, readWallet, type WalletFacts } from '../../swaps/accounts/read-wallet.js';
import { checkBudget } from '../../swaps/transaction/budget.js';
import type { PaymentContext } from '../context.js';
import type { Priced } from './choose.js';
import { broughtBy, findFunding, type Funding, type FundingOptions } from './funding.js';

// If several offers need a swap, at most this many are compared, because quotes are scarce.
const MAX_COMPARED = 3;

export interface FundingChoice {
  /** Whether the swap of the chosen offer is made next. */
  readonly toSwap: boolean;
  readonly signalFor: (offer: Offer) => AbortSignal;
  /** Replaces the reason of a passed deadline with an error that explains it. */
  readonly explain: (error: unknown) => unknown;
  readonly refuse: (offer: Offer, reason: ExactChangeError) => void;
}

export interface Funded {
  readonly priced: Priced;
  readonly funding: Funding;
}

/**
 * Returns the offer with the cheapest swap, and the swap; undefined if no offer has a swap.
 *
 * @param short - Offers that the wallet holds too little for, cheapest first.
 */
export async function chooseFunding(
  context: PaymentContext,
  short: readonly Priced[],
  options: FundingChoice,
): Promise<Funded | undefined> {
  const funded: Funded[] = [];
  for (const priced of short.slice(0, MAX_COMPARED)) {
    const funding = await fundingFor(context, priced, {
      signal: options.signalFor(priced.offer),
      // The offer with the lowest price is mostly chosen, so ask for its transaction too.
      toPay: options.toSwap && priced === short[0] ? priced.offer : undefined,
    }).catch((error: unknown) => asRefusal(options.explain(error)));
    if (isExactChangeError(funding)) options.refuse(priced.offer, funding);
    else funded.push({ priced, funding });
  }
  return cheapest(funded);
}

/**
 * Finds the swap for an offer. Throws if the wallet's own account cannot take the tokens, or if the
 * wallet has too little SOL for the swap: a different offer may need no such account.
 */
async function fundingFor(
  context: PaymentContext,
  { offer, facts }: Priced,
  options: FundingOptions,
): Promise<Funding> {
  const { rpc, config } = context;
  const reading = readWallet(rpc, config.signer.address, [offer.mint], options);
  reading.catch(() => undefined);
  const funding = await findFunding(context, offer, facts, offer.amount, options);
  const wallet = await reading;
  const isRelayed = config.relayer !== undefined && funding.inputMint !== WSOL_MINT;
  if ('quote' in funding && !isRelayed) await checkSol(context, wallet, options);
  return funding;
}

/** Throws `insufficient_sol` if the SOL is too little even if the swap needs no priority fee. */
async function checkSol(
  { rpc, config }: PaymentContext,
  { lamports, legs }: WalletFacts,
  { signal }: FundingOptions,
): Promise<void> {
  const { signer, policy } = config;
  const [minimum, ...rents] = await Promise.all([
    rpc.rent(0, { signal }),
    ...legs.map(async ({ account, mint }) =>
      account.exists
        ? 0n
        : creationCost(account, await rpc.rent(accountBytes(mint), { signal })).takes,
    ),
  ]);
  const rent = sumAmounts(rents);
  // If it is too little, say what is enough for any priority fee.
  const isShort = lamports < SIGNATURE_LAMPORTS + rent + minimum;
  const networkFee = isShort ? policy.maxFeeLamports : SIGNATURE_LAMPORTS;
  const none = { priorityFee: 0n, temporaryRent: 0n, wrapped: 0n, returned: 0n };
  const budget = { ...none, networkFee, rent };
  checkBudget(signer.address, budget, lamports, minimum, policy.maxRentLamports);
}

/**
 * Returns the cheapest swap. Swaps out of the same token are compared by their cost for the payment
 * alone. Swaps out of different tokens keep the order of the offers' prices.
 */
function cheapest(funded: readonly Funded[]): Funded | undefined {
  return funded.reduce<Funded | undefined>((best, next) => {
    if (best === undefined) return next;
    return best.funding.inputMint === next.funding.inputMint && costsLess(next, best) ? next : best;
  }, undefined);
}

/**
 * Compares two payments at the rates of their swaps. A swap may bring more than its payment takes,
 * and the surplus is no cost.
 */
function costsLess(a: Funded, b: Funded): boolean {
  const cost = ({ priced, funding }: Funded) => priced.offer.amount * funding.maxInAmount;
  return cost(a) * broughtBy(b.funding) < cost(b) * broughtBy(a.funding);
}

/**
 * Returns an error that concerns a single offer, so that it refuses this offer. Throws any other
 * error, such as a node that is down, which ends the call.
 */
function asRefusal(error: unknown): ExactChangeError {
  if (isExactChangeError(error) && ['QuoteError', 'FundsError', 'PolicyError'].includes(error.name))
    return error;
  throw error;
}
