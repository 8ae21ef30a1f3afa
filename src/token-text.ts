import { formatUiAmount } from './amount.js';
import { pinnedMint, shownAmount, WSOL_MINT } from './network.js';

const SOL_DECIMALS = 9;

/**
 * Returns an amount as text: `0.01 USDC` for a pinned mint, `0.01 of <mint>` for any other mint,
 * base units if the decimals are unknown.
 */
export function amountText(
  network: string,
  mint: string,
  amount: bigint,
  decimals: number | undefined = pinnedMint(network, mint)?.decimals,
): string {
  if (decimals === undefined) return `${amount} base units of ${mint}`;
  const { uiAmount, symbol } = shownAmount(network, mint, amount, decimals);
  return symbol === undefined ? `${uiAmount} of ${mint}` : `${uiAmount} ${symbol}`;
}

/**
 * Returns a Solana Pay link that asks for an amount of a token for a wallet. A wallet app opens it,
 * or reads it as a QR code.
 */
export function fundingLink(
  wallet: string,
  mint: string,
  amount: bigint,
  decimals: number,
): string {
  const link = `solana:${wallet}?amount=${formatUiAmount(amount, decimals)}`;
  // Native SOL has no mint, and no wallet app sends wrapped SOL.
  return mint === WSOL_MINT ? link : `${link}&spl-token=${mint}`;
}

/** {@link fundingLink} for lamports. */
export function solLink(wallet: string, lamports: bigint): string {
  return fundingLink(wallet, WSOL_MINT, lamports, SOL_DECIMALS);
}

/** Returns lamports as text for people: `0.00203928 SOL`. */
export function solText(lamports: bigint): string {
  return `${formatUiAmount(lamports, SOL_DECIMALS)} SOL`;
}
