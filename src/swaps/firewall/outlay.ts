import { maxAmount, sumAmounts } from '../../amount.js';
import { TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import type { Address } from '../../solana/types.js';
import type { OwnAccount } from '../accounts/own-account.js';
import { priorityFeeOf } from './compute-budget.js';
import type { Floors } from './guard.js';
import { claimedBy } from './guards-found.js';
import { placed, type SurroundingsSubject, type SwapInPlace } from './placed-instructions.js';
import { closesWrapped, createdIn, wrappedAccount, wrappedIn } from './surroundings.js';

/** State of the wallet on chain before a foreign transaction runs. */
export interface WalletBefore {
  readonly lamports: bigint;
  readonly source: OwnAccount;
  readonly output: OwnAccount;
  /** The wallet's wrapped SOL account; it may also be `source` or `output`. */
  readonly wrapped: OwnAccount;
  /** Lamports that it takes to create each missing account. */
  readonly rents: ReadonlyMap<Address, bigint>;
  /** Lamports of the source and the output beyond their rents. */
  readonly excess: ReadonlyMap<Address, bigint>;
}

/** Costs of a foreign transaction besides the swapped amounts, in lamports. */
export interface Costs {
  readonly networkFee: bigint;
  readonly priorityFee: bigint;
  /** Rent of accounts that stay. */
  readonly rent: bigint;
}

export interface Outlay extends Costs {
  readonly floors: Floors;
  /** Whether lamports beyond a rent stay in an account, where no guard sees them. */
  readonly leavesExcess: boolean;
}

export function costsOf(subject: SwapInPlace, rents: ReadonlyMap<Address, bigint>): Costs {
  const wrapped = wrappedAccount(subject.expected);
  // An account that is created and closed again gives its rent back.
  const staying = createdIn(subject).filter(
    (address) => !(closesWrapped(subject) && address === wrapped),
  );
  const rent = sumAmounts([...new Set(staying)].map((address) => rents.get(address) ?? 0n));
  return {
    networkFee: SIGNATURE_LAMPORTS,
    priorityFee: priorityFeeOf(subject.instructions) ?? 0n,
    rent,
  };
}

/**
 * Computes what the wallet must hold after a foreign transaction did what was agreed. The source
 * may lose `maxIn`, and the output must gain `minOut`. Other SOL may only go where the instructions
 * around the swap send it.
 */
export function outlayOf(subject: SurroundingsSubject, before: WalletBefore): Outlay {
  const { expected } = subject;
  const { wallet, inputMint, outputMint, maxIn, minOut } = expected;
  const wrapped = wrappedAccount(expected);
  const closes = closesWrapped(subject);
  const wrap = wrappedIn(subject);
  const { networkFee, priorityFee, rent } = costsOf(subject, before.rents);
  // Uncounted lamports belong to the balance, because any program may count them (`SyncNative`).
  const heldWrapped = before.wrapped.balance + before.wrapped.uncounted;
  const leastWrapped = maxAmount(
    heldWrapped +
      wrap -
      (inputMint === WSOL_MINT ? maxIn : 0n) +
      (outputMint === WSOL_MINT ? minOut : 0n),
    0n,
  );
  // Also right for an account that the transaction makes: its rent leaves and returns, so only the
  // lamports that lay at its address come back on top.
  const rentBack = before.wrapped.lamports - heldWrapped;
  const returned = closes ? rentBack + leastWrapped : 0n;
  const claimed = placed(subject).flatMap((step) => claimedBy(step, expected) ?? []);
  const excessIn = (isClaimed: boolean) =>
    sumAmounts(
      [...before.excess].map(([at, excess]) => (claimed.includes(at) === isClaimed ? excess : 0n)),
    );
  const isClosed = ({ address }: OwnAccount) => closes && address === wrapped;
  const isWrapped = ({ mint, tokenProgram }: OwnAccount) =>
    mint === WSOL_MINT && tokenProgram === TOKEN_PROGRAM;
  const sourceLeast = isWrapped(before.source)
    ? leastWrapped
    : maxAmount(before.source.balance - maxIn, 0n);
  const outputLeast = isWrapped(before.output) ? leastWrapped : before.output.balance + minOut;
  return {
    networkFee,
    priorityFee,
    rent,
    leavesExcess: excessIn(false) > 0n,
    floors: {
      wallet,
      lamports: maxAmount(
        before.lamports - networkFee - priorityFee - rent - wrap + returned + excessIn(true),
        1n,
      ),
      tokens: [
        { account: before.source, least: sourceLeast, closed: isClosed(before.source) },
        { account: before.output, least: outputLeast, closed: isClosed(before.output) },
      ],
    },
  };
}
