import { TransportError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { Reading } from '../../journal/account-balance.js';
import type { Attempt, SignedPayment } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { recovery } from '../on-demand.js';
import type { Source } from './account-history.js';
import type { Claim } from './claim.js';
import type { Histories, Witness } from './histories.js';

/** What the chain says about a transaction that this wallet signed. */
export type Fate =
  /**
   * It landed; `error` is null if it went well. A landed failure can never succeed: the chain takes
   * the same message once.
   */
  | {
      readonly state: 'landed';
      readonly signature: string;
      readonly slot: number;
      readonly error: string | null;
    }
  /** It did not land and never will. */
  | { readonly state: 'never' }
  | { readonly state: 'open' };

const OPEN: Fate = { state: 'open' };
const NEVER: Fate = { state: 'never' };

/**
 * Asks the chain once what became of a transaction. Our own signature in a landed transaction is
 * proof that it landed, and so is the fee payer's over our message, which is its id. That it failed
 * is told by two nodes, if there are two, each with a transaction that moved nothing, in a final
 * block. That it never will land takes two witnesses,
 * which no index can delay together, from two nodes if there are two:
 * - the search: at a final slot past the life of the blockhash, as the node itself judges that, the
 *   source's whole history has no such transaction, and
 *   the index of addresses that gives that history has come as far;
 * - the balance of the source at such a slot lacks nothing that its history does not explain.
 */
export async function fateOf(histories: Histories, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const failures: unknown[] = [];
  const nodes = histories.of(sent.source);
  const inVain: Fate[] = [];
  for (const node of nodes) {
    try {
      const fate = await askNode(node, sent, signal);
      if (fate.state === 'landed' && fate.error === null) return fate;
      if (fate.state !== 'open') inVain.push(fate);
      // One that failed has cost its fee.
      if (inVain.length >= Math.min(2, nodes.length))
        return inVain.find(({ state }) => state === 'landed') ?? NEVER;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return OPEN;
}

/**
 * Asks what became of payments for a caller. Each call of a node has a deadline, but there may be
 * many of them: throws `timeout` if they take longer than `timeouts.payment` together.
 */
export function inPaymentTime<T>(
  { config }: Pick<PaymentContext, 'config'>,
  signal: AbortSignal | undefined,
  ask: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  const { payment: timeoutMs } = config.timeouts;
  const late = () =>
    new TransportError(
      'timeout',
      `The RPC nodes did not tell within ${timeoutMs} ms what became of a payment. Try again, or set another rpcUrl.`,
      { details: { step: 'chain', timeoutMs } },
    );
  return bounded(timeoutMs, late, [signal], ask);
}

async function askNode(node: Witness, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const fate = await lookFor(node, sent, signal);
  if (fate.state !== 'landed' || fate.error === null) return fate;
  const tip = await (await node.history()).tip(signal);
  if (fate.slot <= tip.slot) return fate;
  // On a fork that is dropped it has not failed: the same bytes may land anew, and go well.
  return OPEN;
}

/** What the seller claims first: mostly that is all that has to be asked, and loaded. */
async function lookFor(node: Witness, sent: Sent, signal: AbortSignal): Promise<Fate> {
  const found = sent.isId ? undefined : await claimed(node, sent, signal);
  return found ?? (await recovery()).searchHistory(await node.history(), sent, signal);
}

/**
 * The node is asked in vain at worst: it must not keep the search from being made. The claim is
 * proven last: what landed together is asked about together, and proven in one go.
 */
async function claimed(
  node: Witness,
  { claim }: Sent,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  if (claim === undefined) return undefined;
  const status = await node.statusOf(claim.id, signal).catch(() => null);
  if (signal.aborted) throw signal.reason;
  // That it failed is for the list to say, which tells the slot of now.
  if (status === null || status.error !== null || status.commitment === 'processed')
    return undefined;
  if (!(await claim.isProven())) return undefined;
  return { state: 'landed', signature: claim.id, slot: status.slot, error: null };
}

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
