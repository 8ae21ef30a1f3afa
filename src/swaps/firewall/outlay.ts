import { maxAmount } from '../../amount.js';
import { TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { SIGNATURE_LAMPORTS } from '../transaction/budget.js';
import type { OwnAccount } from '../transaction/own-account.js';
import { priorityFeeOf } from './compute-budget.js';
import type { Floors } from './guard.js';
import type { SurroundingsSubject } from './placed-instructions.js';
import { closesWrapped, createdIn, wrappedAccount, wrappedIn } from './surroundings.js';

/** What the chain says about the wallet before a foreign transaction runs. */
export interface WalletBefore {
  readonly lamports: bigint;
  readonly source: OwnAccount;
  readonly output: OwnAccount;
  /** Its wrapped SOL account: one of the two, or neither. */
  readonly wrapped: OwnAccount;
  /** Lamports that creating each account takes that does not exist. */
  readonly rents: ReadonlyMap<Address, bigint>;
}

/** What a foreign transaction costs besides what it swaps, in lamports. */
export interface Costs {
  readonly networkFee: bigint;
  readonly priorityFee: bigint;
  /** Of accounts that stay. */
  readonly rent: bigint;
}

/** The same, and what it must leave. */
export interface Outlay extends Costs {
  readonly floors: Floors;
}

/** @param rents - Lamports that creating each account takes that does not exist. */
export function costsOf(
  subject: Pick<SurroundingsSubject, 'instructions' | 'swapAt' | 'expected'>,
  rents: ReadonlyMap<Address, bigint>,
): Costs {
  const own = wrappedAccount(subject.expected);
  // What is created and closed again gives its rent back.
  const staying = createdIn(subject).filter(
    (address) => !(closesWrapped(subject) && address === own),
  );
  const rent = sum([...new Set(staying)].map((address) => rents.get(address) ?? 0n));
  return {
    networkFee: SIGNATURE_LAMPORTS,
    priorityFee: priorityFeeOf(subject.instructions) ?? 0n,
    rent,
  };
}

/**
 * Works out what must be left when a transaction that is not ours has done what was agreed: the
 * most may be gone from the source, the least must have come to the output, and SOL may only have
 * gone where the instructions around the swap send it.
 */
export function outlayOf(subject: SurroundingsSubject, before: WalletBefore): Outlay {
  const { expected } = subject;
  const { wallet, inputMint, outputMint, maxIn, minOut } = expected;
  const own = wrappedAccount(expected);
  const closes = closesWrapped(subject);
  const wrap = wrappedIn(subject);
  const { networkFee, priorityFee, rent } = costsOf(subject, before.rents);
  // What any program can have counted while it runs.
  const heldWrapped = before.wrapped.balance + before.wrapped.uncounted;
  const leastWrapped = maxAmount(
    heldWrapped +
      wrap -
      (inputMint === WSOL_MINT ? maxIn : 0n) +
      (outputMint === WSOL_MINT ? minOut : 0n),
    0n,
  );
  // Of one that is made too: what it takes to make it comes back, with what lay at the address.
  const rentBack = before.wrapped.lamports - heldWrapped;
  const returned = closes ? rentBack + leastWrapped : 0n;
  const isClosed = ({ address }: OwnAccount) => closes && address === own;
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
    floors: {
      wallet,
      lamports: maxAmount(before.lamports - networkFee - priorityFee - rent - wrap + returned, 1n),
      tokens: [
        { account: before.source, least: sourceLeast, closed: isClosed(before.source) },
        { account: before.output, least: outputLeast, closed: isClosed(before.output) },
      ],
    },
  };
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
