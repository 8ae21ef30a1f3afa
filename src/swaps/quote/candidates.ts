import { maxAmount } from '../../amount.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT, pinnedMint } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { type TokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';

/** A token account of the wallet, as listed by the chain. */
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
  /** What is to be bought. */
  readonly outputMint: Address;
  /** Lamports to keep back for network fees, rent and the wallet's own minimum. */
  readonly keepLamports: bigint;
  /** Mints or pinned symbols, in order; nothing else is swapped from. */
  readonly swapFrom?: readonly string[] | undefined;
  /**
   * What others have reserved, in base units by mint; SOL, wrapped or not, is {@link WSOL_MINT}.
   */
  readonly reserved?: ReadonlyMap<Address, bigint> | undefined;
  /** What a holding is worth, in any one unit, by mint; those without come last. */
  readonly values?: ReadonlyMap<Address, bigint> | undefined;
}

/** A token to swap from, and how much of it may be spent. */
export interface Candidate {
  readonly mint: Address;
  readonly available: bigint;
}

/**
 * The tokens to try, best first: the caller's own order, or stablecoins, SOL, then others by value.
 * Left out are what is to be bought, accounts that are frozen, delegated or not the associated one,
 * and what looks like an NFT.
 */
export function orderCandidates(holdings: Holdings, choice: CandidateChoice): Candidate[] {
  const { network } = holdings;
  const { outputMint, swapFrom, reserved, values } = choice;
  const held = new Map(spendable(holdings).map(({ account }) => [account.mint, account.amount]));
  held.set(
    WSOL_MINT,
    (held.get(WSOL_MINT) ?? 0n) + maxAmount(holdings.lamports - choice.keepLamports, 0n),
  );
  held.delete(outputMint);
  const candidates = [...held]
    .map(([mint, amount]) => ({ mint, available: amount - (reserved?.get(mint) ?? 0n) }))
    .filter(({ available }) => available > 0n);
  if (swapFrom !== undefined) {
    const order = swapFrom.map((name) => pinnedMint(network, name)?.mint ?? name);
    return order.flatMap((mint) => candidates.filter((candidate) => candidate.mint === mint));
  }
  const rank = ({ mint }: Candidate) =>
    pinnedMint(network, mint)?.dollar === true
      ? 0
      : mint === WSOL_MINT
        ? 1
        : values?.has(mint) === true
          ? 2
          : 3;
  const value = ({ mint, available }: Candidate) => values?.get(mint) ?? available;
  // Stablecoins are compared by amount: those that are pinned all have the same decimals.
  return candidates.sort((a, b) => rank(a) - rank(b) || compare(value(b), value(a)));
}

function spendable({ wallet, tokens }: Holdings): Holding[] {
  return tokens.filter(({ address, account }) => {
    const { owner, mint, tokenProgram, state, amount, delegate, closeAuthority } = account;
    if (owner !== wallet || state !== 'initialized' || delegate !== undefined) return false;
    if (closeAuthority !== undefined && closeAuthority !== wallet) return false;
    if (tokenProgram !== TOKEN_PROGRAM && tokenProgram !== TOKEN_2022_PROGRAM) return false;
    // One base unit is an NFT, or not worth a swap.
    return amount > 1n && address === associatedTokenAddress(wallet, mint, tokenProgram);
  });
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
