import { ceilDiv } from '../../amount.js';
import { FundsError, PolicyError } from '../../errors.js';
import type { Address } from '../../solana/types.js';
import { solLink, solText } from '../../token-text.js';

const MICRO = 1_000_000n;

export interface ComputeBudget {
  readonly unitLimit: number;
  /** Micro-lamports per unit. */
  readonly unitPrice: bigint;
}

/** Returns the lamports that the compute budget costs on top of the signature. */
export function priorityFee({ unitLimit, unitPrice }: ComputeBudget): bigint {
  return ceilDiv(BigInt(unitLimit) * unitPrice, MICRO);
}

/** Returns the highest price, up to `wanted`, that keeps the priority fee within `maxLamports`. */
export function boundedUnitPrice(wanted: bigint, unitLimit: number, maxLamports: bigint): bigint {
  const most = (maxLamports * MICRO) / BigInt(unitLimit);
  return wanted < most ? wanted : most;
}

/** Lamports that a transaction takes from the wallet and returns to it. */
export interface LamportBudget {
  readonly networkFee: bigint;
  readonly priorityFee: bigint;
  /** Rent of accounts that stay. */
  readonly rent: bigint;
  /** Rent of a wrapped SOL account that is closed again in the same transaction. */
  readonly temporaryRent: bigint;
  /** SOL that is wrapped for the swap. */
  readonly wrapped: bigint;
  /**
   * The least that closing a wrapped SOL account brings, besides {@link temporaryRent}, and that is
   * withdrawn from token accounts.
   */
  readonly returned: bigint;
}

/**
 * Returns the lamports that the wallet needs so that the transaction can run and the wallet stays
 * rent-exempt.
 */
export function requiredLamports(budget: LamportBudget, walletMinimum: bigint): bigint {
  const { networkFee, priorityFee: priority, rent, temporaryRent, wrapped } = budget;
  return networkFee + priority + rent + temporaryRent + wrapped + walletMinimum;
}

/** Returns the least lamports that the wallet has after the transaction. */
export function leastLamports(available: bigint, budget: LamportBudget): bigint {
  return (
    available -
    budget.networkFee -
    budget.priorityFee -
    budget.rent -
    budget.wrapped +
    budget.returned
  );
}

/**
 * Throws if the wallet has too little SOL (`insufficient_sol`), or the rent is above the
 * caller's limit (`fees_over_limit`).
 */
export function checkBudget(
  wallet: Address,
  budget: LamportBudget,
  available: bigint,
  walletMinimum: bigint,
  maxRentLamports: bigint,
): void {
  if (budget.rent > maxRentLamports) {
    const message = `The swap creates token accounts for ${solText(budget.rent)} of rent; the limit is ${solText(maxRentLamports)}.`;
    throw new PolicyError('fees_over_limit', message, {
      details: { lamports: budget.rent.toString(), limitLamports: maxRentLamports.toString() },
    });
  }
  const required = requiredLamports(budget, walletMinimum);
  if (available >= required) return;
  const link = solLink(wallet, required - available);
  throw new FundsError(
    'insufficient_sol',
    `The swap needs ${solText(required)} for network fees${budget.wrapped > 0n ? ', rent and what it sells' : ' and rent'}; the wallet ${wallet} can spend ${solText(available)}. Send it at least ${solText(required - available)} (${link}).`,
    {
      details: {
        requiredLamports: required.toString(),
        availableLamports: available.toString(),
        link,
      },
    },
  );
}
