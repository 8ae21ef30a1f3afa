import { TransportError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { Reading } from '../../journal/account-balance.js';
import type { Attempt, SignedPayment } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { recovery } from '../on-demand.js';
import type { Source } from './account-history.js';
import type { ClaimedId } from './claim.js';
import type { Histories, Witness } from './histories.js';

/** What the chain says of a transaction that this wallet signed. */
export type Fate =
  /**
   * The transaction landed; `error` is null if it succeeded. A landed failure can never succeed,
   * because the chain accepts the same message once.
   */
  | {
      readonly state: 'landed';
      readonly signature: string;
      readonly slot: number;
      readonly error: string | null;
    }
  /** The transaction did not land and never will. */
  | { readonly state: 'never' }
  | { readonly state: 'open' };

export const OPEN: Fate = { state: 'open' };
export const NEVER: Fate = { state: 'never' };

/**
 * Asks each node once for the fate of a transaction.
 *
 * Success is proven by the wallet's signature in a landed transaction. The fee payer's signature
 * over the wallet's message, which is the transaction's id, proves it too.
 *
 * A failure needs two nodes, if there are two. Each gives a transaction that moved no tokens, in a
 * final block.
 *
 * `never` needs two nodes too, if there are two. Each shows two facts at a final slot at which it
 * calls the blockhash expired; no lag of an index can cause both:
 * - The source's whole history has no such transaction, and the address index has reached the slot.
 * - The source's history explains its whole balance.
 */
export async function fateOf(
  histories: Histories,
  sent: SentTransaction,
  signal: AbortSignal,
): Promise<Fate> {
  const failures: unknown[] = [];
  const nodes = histories.of(sent.source);
  const unpaidFates: Fate[] = [];
  for (const node of nodes) {
    try {
      const fate = await askNode(node, sent, signal);
      if (fate.state === 'landed' && fate.error === null) return fate;
      if (fate.state !== 'open') unpaidFates.push(fate);
      // Prefer a landed failure to `never`, because it has cost its fee.
      if (unpaidFates.length >= Math.min(2, nodes.length))
        return unpaidFates.find(({ state }) => state === 'landed') ?? NEVER;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return OPEN;
}

/**
 * Runs an inquiry into payments for a caller. Throws `timeout` after `timeouts.payment`, because
 * the inquiry may make many requests to nodes, each with a deadline of its own.
 */
export function inPaymentTime<T>(
  { config }: Pick<PaymentContext, 'config'>,
  signal: AbortSignal | undefined,
  ask: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  const { payment: timeoutMs } = config.timeouts;
  const timeoutError = () =>
    new TransportError(
      'timeout',
      `The RPC nodes did not tell within ${timeoutMs} ms what became of a payment. Try again, or set another rpcUrl.`,
      { details: { step: 'chain', timeoutMs } },
    );
  return bounded(timeoutMs, timeoutError, [signal], ask);
}

async function askNode(node: Witness, sent: SentTransaction, signal: AbortSignal): Promise<Fate> {
  const fate = await findFate(node, sent, signal);
  if (fate.state !== 'landed' || fate.error === null) return fate;
  const tip = await (await node.history()).tip(signal);
  if (fate.slot <= tip.slot) return fate;
  // The block is not final. If its fork is dropped, the same bytes may land again and succeed.
  return OPEN;
}

/** Checks the seller's claim first, because mostly it makes the search unnecessary. */
async function findFate(node: Witness, sent: SentTransaction, signal: AbortSignal): Promise<Fate> {
  const claimed = sent.isId ? undefined : await fateOfClaim(node, sent, signal);
  return claimed ?? (await recovery()).searchHistory(await node.history(), sent, signal);
}

/**
 * Returns the fate of the transaction that the seller claims; undefined if it proves nothing. A
 * failed request proves nothing either: it must not prevent the search.
 *
 * Proves the claim after the status request, so that concurrent payments share one request.
 */
async function fateOfClaim(
  node: Witness,
  { claim }: SentTransaction,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  if (claim === undefined) return undefined;
  const status = await node.statusOf(claim.id, signal).catch(() => null);
  if (signal.aborted) throw signal.reason;
  // Leave a failure to the search, because the list gives the slot in which it is now.
  if (status === null || status.error !== null || status.commitment === 'processed')
    return undefined;
  if (!(await claim.isProven())) return undefined;
  return { state: 'landed', signature: claim.id, slot: status.slot, error: null };
}

/**
 * Slots from a blockhash to its last use, at most: 150 blocks, and slots that have no block.
 */
const SLOT_MARGIN = 364;

/** A transaction that this wallet signed, with all facts that its fate is decided by. */
export interface SentTransaction extends Pick<
  SignedPayment,
  'slot' | 'blockhash' | 'blockhashSlot'
> {
  /** The wallet's signature in the transaction. */
  readonly signature: string;
  /** Whether that signature is the transaction's id: it is if the wallet pays the fee. */
  readonly isId: boolean;
  /** The transaction's id as the seller claims it: checked first, and believed if proven. */
  readonly claim?: ClaimedId | undefined;
  /** The transaction's memo, if it has a unique memo. */
  readonly memo?: string | undefined;
  readonly source: Source;
  /** The mint that it takes, if only an address index can show that the transaction landed. */
  readonly mint?: Address | undefined;
  /** The source's balance before the transaction was signed, as of a slot. */
  readonly before?: Reading | undefined;
  readonly lastValidBlockHeight: bigint;
}

/** Returns the slot before which a transaction cannot land, by a slot that its blockhash is of. */
export function earliestSlot(blockhashSlot: number): number {
  return Math.max(0, blockhashSlot - SLOT_MARGIN);
}

export function recordedBefore(before: Reading | undefined): Pick<SignedPayment, 'before'> {
  return before === undefined
    ? {}
    : { before: { amount: before.amount.toString(), slot: before.slot } };
}

export function readingOf(recorded: SignedPayment['before']): Reading | undefined {
  return recorded === undefined
    ? undefined
    : { amount: BigInt(recorded.amount), slot: recorded.slot };
}

export function sourceOf({ source }: Pick<SignedPayment, 'source'>): Source {
  return { account: source, unit: 'tokens' };
}

export function sentPayment(
  { mint }: Pick<Attempt, 'mint'>,
  payment: SignedPayment,
  claim?: ClaimedId,
): SentTransaction {
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
