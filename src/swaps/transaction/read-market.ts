import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import type { Address, Instruction } from '../../solana/types.js';
import { checkExposure, foreignAccounts } from '../firewall/exposure.js';
import { readExposed } from '../firewall/read-exposed.js';
import { readExcess } from '../accounts/excess.js';
import { accountBytes, type Leg } from '../accounts/read-wallet.js';
import type { SwapFacts } from './plan.js';

/** Rents of the accounts of a swap, in lamports. */
type Rents = Pick<SwapFacts, 'sourceRent' | 'outputRent' | 'sourceExcess' | 'outputExcess'> & {
  /** Keeps the wallet itself rent-exempt. */
  readonly walletMinimum: bigint;
};

export async function readRents(
  rpc: Pick<Rpc, 'rent' | 'simulate'>,
  wallet: Address,
  [input, output]: readonly [Leg, Leg],
  options: CallOptions,
): Promise<Rents> {
  const excessOf = ({ account, bytes }: Leg) => readExcess(rpc, wallet, account, bytes, options);
  const [walletMinimum, sourceRent, outputRent, sourceExcess, outputExcess] = await Promise.all([
    rpc.rent(0, options),
    rentOf(rpc, input, options),
    rentOf(rpc, output, options),
    excessOf(input),
    excessOf(output),
  ]);
  return { walletMinimum, sourceRent, outputRent, sourceExcess, outputExcess };
}

/**
 * Reads the accounts that the venue could reach, and returns the market's price in micro-lamports
 * per compute unit. Throws `unsafe_swap` if the venue could reach another account of the wallet.
 */
export async function readMarket(
  rpc: Rpc,
  wallet: Address,
  instruction: Instruction,
  [input, output]: readonly [Leg, Leg],
  options: CallOptions,
): Promise<bigint> {
  const foreign = foreignAccounts(instruction, [
    wallet,
    input.account.address,
    output.account.address,
  ]);
  // The wallet's own accounts set no price, because no other wallet competes for them.
  const writable = foreign.filter((account) => account.writable).map(({ address }) => address);
  const [exposed, unitPrice] = await Promise.all([
    readExposed(rpc, foreign, options),
    marketPrice(rpc, [...new Set(writable)], options),
  ]);
  checkExposure(wallet, exposed);
  return unitPrice;
}

/**
 * Estimates the price from recent transactions. If the node cannot tell, returns the least price,
 * because that is no reason not to swap.
 */
async function marketPrice(
  rpc: Rpc,
  writable: readonly Address[],
  options: CallOptions,
): Promise<bigint> {
  try {
    return await estimateComputeUnitPrice(rpc, writable, options);
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    return 1n;
  }
}

export async function rentOf(
  rpc: Pick<Rpc, 'rent'>,
  { account, mint }: Leg,
  options: CallOptions,
): Promise<bigint> {
  return account.exists ? 0n : rpc.rent(accountBytes(mint), options);
}

/** The most accounts that the node takes in one request. */
const MAX_ACCOUNTS = 128;
const PERCENTILE = 75;

/**
 * Returns a price in micro-lamports per compute unit; at least 1. It would have won three quarters
 * of the recent races for these writable accounts.
 */
export async function estimateComputeUnitPrice(
  rpc: Rpc,
  writable: readonly Address[],
  options?: CallOptions,
): Promise<bigint> {
  const fees = await rpc.priorityFees(writable.slice(0, MAX_ACCOUNTS), options);
  const sorted = [...fees].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const chosen = sorted[Math.ceil((sorted.length * PERCENTILE) / 100) - 1] ?? 0n;
  return chosen > 1n ? chosen : 1n;
}
