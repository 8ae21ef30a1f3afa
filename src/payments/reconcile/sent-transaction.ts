import type { Reading } from '../../journal/account-balance.js';
import type { Attempt, SignedPayment } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import type { Source } from './account-history.js';
import type { Claim } from './claim.js';

/**
 * A blockhash is at most 150 blocks old when it is used last, and slots may pass without a block.
 */
export const SLOT_MARGIN = 364;

/** A transaction that this wallet signed, with all that its fate is told by. */
export interface Sent {
  /** Our signature in it. */
  readonly signature: string;
  /** Whether our signature is the transaction's id: it is if we pay the fee. */
  readonly isId: boolean;
  /** Its id, as the seller says it: looked at first, and believed if it is proven. */
  readonly claim?: Claim | undefined;
  /** What its memo says, if it has one of its own. */
  readonly memo?: string | undefined;
  /** What it takes from. */
  readonly source: Source;
  /** The token that it takes, if an index of addresses alone can tell that it landed. */
  readonly mint?: Address | undefined;
  /** What the source held before it was signed, as of a slot. */
  readonly before?: Reading | undefined;
  /** It cannot have landed before this slot. */
  readonly slot: number;
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  readonly lastValidBlockHeight: bigint;
}

/** What an account held, as it is on record. */
export function readingOf(recorded: SignedPayment['before']): Reading | undefined {
  return recorded === undefined
    ? undefined
    : { amount: BigInt(recorded.amount), slot: recorded.slot };
}

/** What a signed payment takes from. */
export function sourceOf({ source }: Pick<SignedPayment, 'source'>): Source {
  return { account: source, unit: 'tokens' };
}

/** What the chain is asked about a signed payment. */
export function sentPayment(
  { mint }: Pick<Attempt, 'mint'>,
  payment: SignedPayment,
  claim?: Claim,
): Sent {
  const { payerSignature, memo, before, slot, blockhash, blockhashSlot, lastValidBlockHeight } =
    payment;
  return {
    ...{ signature: payerSignature, isId: false, memo, slot, blockhash },
    claim,
    ...{ source: sourceOf(payment), mint },
    before: readingOf(before),
    blockhashSlot,
    lastValidBlockHeight: BigInt(lastValidBlockHeight),
  };
}
