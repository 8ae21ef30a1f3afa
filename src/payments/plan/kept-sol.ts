import { ceilDiv, WHOLE } from '../../amount.js';
import type { FundsError } from '../../errors.js';
import { startDeadline } from '../../internal/abort.js';
import { WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import { tooLittleSol } from '../../swaps/transaction/budget.js';
import { solText } from '../../token-text.js';
import type { PaymentContext } from '../context.js';
import { candidatesIn, priceOf } from './candidate-queue.js';
import { KEEP_LAMPORTS } from './keep-lamports.js';

/** The most milliseconds to wait for a price that only an error needs. */
const PRICE_WAIT_MS = 1_000;

/**
 * Returns `insufficient_sol` if the wallet's SOL would bring the missing tokens, but for the SOL
 * that stays in the wallet. Undefined if SOL may not be spent, is worth too little, or has no known
 * price; also if the wallet has an account for the token: then it is likely funded with the token.
 *
 * @param mint - A pinned mint.
 * @param missing - Base units of the mint.
 */
export async function keptSol(
  context: PaymentContext,
  holdings: Holdings,
  mint: Address,
  missing: bigint,
  signal: AbortSignal | undefined,
): Promise<FundsError | undefined> {
  const { lamports, wallet, tokens } = holdings;
  const hasAccount = tokens.some(({ account }) => account.mint === mint);
  if (hasAccount || !maySpendSol(context)) return undefined;
  const isWrap = mint === WSOL_MINT;
  const spendable = isWrap ? lamports : await solIn(context, holdings, mint);
  if (spendable <= 0n) return undefined;
  const input = isWrap ? missing : await inputFor(context, mint, missing, signal);
  if (input === undefined || spendable < input) return undefined;
  const required = KEEP_LAMPORTS + input - (spendable - lamports);
  if (required <= lamports) return undefined;
  return tooLittleSol(
    wallet,
    required,
    lamports,
    `To pay out of SOL, the wallet ${wallet} needs ${solText(required)}: ${solText(KEEP_LAMPORTS)} stay in it for fees and rent. It holds ${solText(lamports)}.`,
  );
}

/** Returns whether `swapFrom` allows to spend SOL. */
export function maySpendSol({ config: { swapFrom } }: PaymentContext): boolean {
  return swapFrom?.includes(WSOL_MINT) !== false;
}

/** Returns the lamports of native and wrapped SOL, without those that other calls have reserved. */
async function solIn(context: PaymentContext, holdings: Holdings, mint: Address): Promise<bigint> {
  const candidates = await candidatesIn(context, holdings, mint, undefined, 0n);
  return candidates.find((candidate) => candidate.mint === WSOL_MINT)?.available ?? 0n;
}

/** Returns the most lamports that a swap may take, by the prices; undefined if they are unknown. */
async function inputFor(
  context: PaymentContext,
  mint: Address,
  missing: bigint,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  const { maxSlippageBps, maxSwapLossBps } = context.config.policy;
  const deadline = startDeadline(PRICE_WAIT_MS, signal);
  const asking = [WSOL_MINT, mint].map((priced) => priceOf(context, priced, deadline.signal));
  const [sol, output] = await Promise.all(asking)
    .catch((error: unknown) => {
      if (deadline.passed) return [];
      throw error;
    })
    .finally(deadline.end);
  if (sol === undefined || output === undefined) return undefined;
  const worth = sol.amountOf(output.most(missing)) + 1n;
  return ceilDiv(worth * (WHOLE + BigInt(maxSlippageBps + maxSwapLossBps)), WHOLE);
}
