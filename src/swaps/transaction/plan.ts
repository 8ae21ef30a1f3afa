import { maxAmount, minAmount, sumAmounts } from '../../amount.js';
import { FundsError } from '../../errors.js';
import { SOLANA_MAINNET, WSOL_MINT } from '../../network.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import type { Address } from '../../solana/types.js';
import { amountText, fundingLink } from '../../token-text.js';
import type { Floors } from '../firewall/guard.js';
import type { SwapExpectation } from '../firewall/swap-rules.js';
import { relayFeeIn } from '../firewall/relay.js';
import { creationCost, type OwnAccount } from '../accounts/own-account.js';
import { type ComputeBudget, type LamportBudget, leastLamports, priorityFee } from './budget.js';

/** Amounts that other transactions of ours in flight may take. */
export interface ReservedAmounts {
  /** Base units of the input mint's account; wrapped SOL, if the input is SOL. */
  readonly input: bigint;
  readonly output: bigint;
}

export const nothingReserved: ReservedAmounts = { input: 0n, output: 0n };

/** State of the wallet on chain, and the amounts that other transactions of ours have reserved. */
export interface SwapFacts {
  readonly source: OwnAccount;
  readonly output: OwnAccount;
  readonly lamports: bigint;
  /**
   * Lamports that keep the source account rent-exempt; 0n if it exists. Lamports at the address of a
   * missing account are not deducted.
   */
  readonly sourceRent: bigint;
  readonly outputRent: bigint;
  /** Lamports of the source account beyond its rent; 0n if the wallet cannot withdraw them. */
  readonly sourceExcess: bigint;
  readonly outputExcess: bigint;
  readonly reserved: ReservedAmounts;
  /** Amounts that the guard lets be missing, because they may leave while the swap lands. */
  readonly leeway: ReservedAmounts;
}

export interface SwapPlan {
  readonly createSource: boolean;
  readonly createOutput: boolean;
  /** Lamports to wrap before the swap. */
  readonly wrap: bigint;
  /** Accounts that stay and have uncounted lamports, which must be counted before the guard. */
  readonly sync: readonly Address[];
  /**
   * Accounts with lamports beyond their rent. The wallet withdraws these before the swap: the venue
   * could do so too, and the guard sees only lamports of the wallet.
   */
  readonly claims: readonly OwnAccount[];
  readonly closeSource: boolean;
  readonly closeOutput: boolean;
  readonly budget: LamportBudget;
  readonly floors: Floors;
  readonly leeway: ReservedAmounts;
  readonly availableLamports: bigint;
}

/**
 * Plans what to create, wrap and close, and what must be left afterwards. Wrapped SOL that the
 * wallet already holds is used before native SOL. A wrapped SOL account is closed only if it was
 * empty or missing before. With `keepWrapped`, an output of wrapped SOL stays wrapped, because the
 * payment is made in it.
 */
export function planSwap(
  expected: SwapExpectation,
  facts: SwapFacts,
  compute: ComputeBudget,
  keepWrapped: boolean,
): SwapPlan {
  const { source, output, reserved } = facts;
  // No more than the balance can be missing.
  const leeway = {
    input: minAmount(facts.leeway.input, source.balance),
    output: minAmount(facts.leeway.output, output.balance),
  };
  const spendable = maxAmount(source.balance - reserved.input, 0n);
  const native = expected.inputMint === WSOL_MINT;
  const takes = expected.maxIn + relayFeeIn(expected, expected.inputMint);
  if (!native && spendable < takes) throw shortOfInput(expected, facts.source, takes, spendable);
  const brings = expected.minOut - relayFeeIn(expected, expected.outputMint);
  const wrap = native ? maxAmount(expected.maxIn - spendable, 0n) : 0n;
  const closeSource = native && source.balance === 0n;
  const closeOutput = expected.outputMint === WSOL_MINT && !keepWrapped && output.balance === 0n;
  const staying = [...(closeSource || wrap > 0n ? [] : [source]), ...(closeOutput ? [] : [output])];
  const rents = [
    {
      create: !source.exists && native,
      lamports: creationCost(source, facts.sourceRent).takes,
      closed: closeSource,
    },
    {
      create: !output.exists,
      lamports: creationCost(output, facts.outputRent).takes,
      closed: closeOutput,
    },
  ];
  // With a relayer, no lamport of the wallet may move.
  const claims = [
    { account: source, excess: facts.sourceExcess },
    { account: output, excess: facts.outputExcess },
  ].filter(({ excess }) => excess > 0n && expected.relay === undefined);
  const rentOf = (closed: boolean) =>
    sumAmounts(rents.map((rent) => (rent.create && rent.closed === closed ? rent.lamports : 0n)));
  const budget: LamportBudget = {
    ...(expected.relay === undefined
      ? {
          networkFee: SIGNATURE_LAMPORTS,
          priorityFee: priorityFee(compute),
          rent: rentOf(false),
          temporaryRent: rentOf(true),
        }
      : { networkFee: 0n, priorityFee: 0n, rent: 0n, temporaryRent: 0n }),
    wrapped: wrap,
    returned: sumAmounts([
      // Also right for a missing account: the lamports at its address come back besides its rent.
      closeSource ? source.lamports : 0n,
      closeOutput ? output.lamports : 0n,
      closeOutput ? brings : 0n,
      ...claims.map(({ excess }) => excess),
    ]),
  };
  const outputUncounted = output.exists
    ? output.uncounted
    : creationCost(output, facts.outputRent).uncounted;
  const sourceLeast = source.balance - leeway.input + source.uncounted;
  const outputLeast = output.balance - leeway.output + outputUncounted;
  return {
    createSource: native && !source.exists,
    createOutput: !output.exists,
    sync: staying.filter(({ uncounted }) => uncounted > 0n).map(({ address }) => address),
    claims: claims.map(({ account }) => account),
    ...{ wrap, closeSource, closeOutput, budget, leeway, availableLamports: facts.lamports },
    floors: {
      wallet: expected.wallet,
      // A wallet that pays fees must keep at least 1 lamport; `checkBudget` decides if it can.
      lamports: maxAmount(
        leastLamports(facts.lamports, budget),
        expected.relay === undefined ? 1n : 0n,
      ),
      tokens: [
        { account: source, least: sourceLeast + wrap - takes, closed: closeSource },
        { account: output, least: outputLeast + brings, closed: closeOutput },
      ],
    },
  };
}

function shortOfInput(
  { wallet, inputMint }: SwapExpectation,
  { decimals }: OwnAccount,
  required: bigint,
  available: bigint,
): FundsError<'insufficient_funds'> {
  const [most, spendable] = [required, available].map((amount) =>
    amountText(SOLANA_MAINNET, inputMint, amount, decimals),
  );
  const link = fundingLink(wallet, inputMint, required - available, decimals);
  const message = `The swap may take up to ${most}, and the wallet ${wallet} can spend ${spendable}. Fund it (${link}).`;
  return new FundsError('insufficient_funds', message, {
    details: {
      mint: inputMint,
      required: required.toString(),
      available: available.toString(),
      link,
    },
  });
}
