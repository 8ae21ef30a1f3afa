import { maxAmount } from '../../amount.js';
import { brokenBy } from '../../internal/rule.js';
import { isTokenProgram, WSOL_MINT, pinnedMint } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { type TokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { ownAccountRules } from '../accounts/own-account-rules.js';

export interface Holding {
  readonly address: Address;
  readonly account: TokenAccount;
}

export interface Holdings {
  readonly network: string;
  readonly wallet: Address;
  readonly lamports: bigint;
  readonly tokens: readonly Holding[];
}

export interface CandidateChoice {
  readonly outputMint: Address;
  /** Lamports to keep back for network fees, rent and the wallet's own minimum. */
  readonly keepLamports: bigint;
  /** Mints or pinned symbols, in order; no other token is swapped from. */
  readonly swapFrom?: readonly string[] | undefined;
  /**
   * Base units that other calls have reserved, by mint; SOL, wrapped or not, is {@link WSOL_MINT}.
   */
  readonly reserved?: ReadonlyMap<Address, bigint> | undefined;
}

export interface Candidate {
  readonly mint: Address;
  readonly available: bigint;
}

/**
 * Returns the tokens to try, best first: in the caller's own order, or stablecoins, SOL, then other
 * tokens by amount. Leaves out the token to buy and tokens that look like an NFT. Also leaves out
 * accounts that no swap can use, and SOL if the account for wrapped SOL is one.
 */
export function orderCandidates(holdings: Holdings, choice: CandidateChoice): Candidate[] {
  const { network, wallet } = holdings;
  const { outputMint, swapFrom, reserved } = choice;
  const own = holdings.tokens.filter((holding) => isOwn(wallet, holding));
  const held = new Map([[WSOL_MINT, maxAmount(holdings.lamports - choice.keepLamports, 0n)]]);
  for (const { account } of own) {
    const { mint, amount } = account;
    // A balance of one base unit is an NFT, or not worth a swap.
    if (!isUsable(wallet, account)) held.delete(mint);
    else if (amount > 1n) held.set(mint, (held.get(mint) ?? 0n) + amount);
  }
  held.delete(outputMint);
  const candidates = [...held]
    .map(([mint, amount]) => ({ mint, available: amount - (reserved?.get(mint) ?? 0n) }))
    .filter(({ available }) => available > 0n);
  if (swapFrom !== undefined) {
    const order = swapFrom.map((name) => pinnedMint(network, name)?.mint ?? name);
    return order.flatMap((mint) => candidates.filter((candidate) => candidate.mint === mint));
  }
  const rank = ({ mint }: Candidate) =>
    pinnedMint(network, mint)?.dollar === true ? 0 : mint === WSOL_MINT ? 1 : 2;
  // Stablecoins compare by amount, because all pinned stablecoins have the same decimals.
  return candidates.sort((a, b) => rank(a) - rank(b) || compare(b.available, a.available));
}

function isOwn(wallet: Address, { address, account: { mint, tokenProgram } }: Holding): boolean {
  return (
    isTokenProgram(tokenProgram) && address === associatedTokenAddress(wallet, mint, tokenProgram)
  );
}

function isUsable(wallet: Address, held: TokenAccount): boolean {
  return (
    held.hasCpiGuard !== true &&
    brokenBy(ownAccountRules, { wallet, mint: held.mint, held }) === undefined
  );
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
