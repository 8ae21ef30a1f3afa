import type { Attempt, SignedPayment } from '../journal/types.js';
import type { Rpc, Signed, SignatureInfo } from '../solana/rpc.js';

/** What the chain says about a signed payment. */
export type Verdict =
  | { readonly state: 'settled'; readonly signature: string; readonly slot: number }
  | { readonly state: 'unsettled' }
  | { readonly state: 'open' };

const OPEN: Verdict = { state: 'open' };

// The most that nodes give in one answer.
const PAGE = 1_000;
// Many more than a token account sees in the life of a blockhash; also what came since, where nobody looked for long.
const MAX_PAGES = 100;
// A node that does not give so many of its own transactions is asked again later.
const MAX_UNREADABLE = 5;

// A transaction id is the fee payer's signature, which only the facilitator makes; ours is inside.
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

interface Search {
  readonly payment: SignedPayment;
  readonly claim: string | undefined;
  readonly seen: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Asks the chain once. Our own signature among a landed transaction's is the proof that it settled. That it never can takes two nodes,
 * where there are two, that have all of it: a finalized block height above the payment's last, a history that is as old as the payment and
 * as young as that height, and each transaction of the account in between known to be another.
 *
 * @param claim - The transaction that the seller says it is: looked at first, believed only with our signature in it.
 * @param seen - Transactions that were looked at before and are others; grows.
 */
export async function findPayment(
  rpc: Rpc,
  payment: SignedPayment,
  claim: string | undefined,
  seen: Set<string>,
  signal: AbortSignal,
): Promise<Verdict> {
  const search = { payment, claim, seen, signal };
  const failures: unknown[] = [];
  const nodes = rpc.alone();
  // One may have a gap that it does not know of; where there are two, neither is believed alone.
  let never = 0;
  for (const node of nodes) {
    try {
      const verdict = await askNode(node, search);
      if (verdict.state === 'settled') return verdict;
      if (verdict.state === 'unsettled' && (never += 1) >= Math.min(2, nodes.length)) return verdict;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return OPEN;
}

async function askNode(rpc: Rpc, search: Search): Promise<Verdict> {
  const { payment, claim, signal } = search;
  if (claim !== undefined && SIGNATURE.test(claim)) {
    // What the seller claims is read in vain at worst: it must not keep the search from being made.
    const claimed = await rpc.signed(claim, { signal }).catch(() => null);
    const verdict = judge(claimed, payment.payerSignature, claim);
    if (verdict !== undefined) return verdict;
  }
  // Read before the search, and asked of it: what landed up to then is in what the search sees.
  const tip = await rpc.tip('finalized', { signal });
  const found = await look(rpc, search, tip.slot);
  if ('verdict' in found) return found.verdict;
  if (!found.complete || tip.height <= BigInt(payment.lastValidBlockHeight)) return OPEN;
  // After the search: what a node has dropped meanwhile is no longer in it. One that cannot say may show something older.
  const first = await rpc.firstSlot({ signal }).catch(() => (found.older ? payment.slot : Infinity));
  return first <= payment.slot ? { state: 'unsettled' } : OPEN;
}

/** Whether all that the payment could be was looked at, and whether the account's history is seen to reach further back. */
type Found = { readonly verdict: Verdict } | { readonly complete: boolean; readonly older: boolean };

async function look(rpc: Rpc, search: Search, minContextSlot: number): Promise<Found> {
  const { payment, seen, signal } = search;
  let unreadable = 0;
  let before: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await rpc.signaturesFor(payment.source, { limit: PAGE, before, minContextSlot, signal });
    for (const info of page) {
      if (!isCandidate(info, payment) || seen.has(info.signature)) continue;
      const transaction = await rpc.signed(info.signature, { signal }).catch(() => null);
      if (signal.aborted) throw signal.reason;
      const verdict = judge(transaction, payment.payerSignature, info.signature);
      if (verdict !== undefined) return { verdict };
      // What is no answer to the question would hide the payment from every other node too.
      if (transaction === 'newer' || transaction?.signatures[0] === info.signature) seen.add(info.signature);
      else if ((unreadable += 1) >= MAX_UNREADABLE) return { verdict: OPEN };
    }
    const last = page[page.length - 1];
    const older = last !== undefined && last.slot < payment.slot;
    if (last === undefined || older) return { complete: unreadable === 0, older };
    before = last.signature;
  }
  return { verdict: OPEN };
}

/** A memo that the node does not tell, or an empty one, excludes nothing. */
function isCandidate({ slot, memo }: SignatureInfo, payment: SignedPayment): boolean {
  if (slot < payment.slot) return false;
  return payment.memo === undefined || typeof memo !== 'string' || memo === '' || memo.includes(payment.memo);
}

/** One that landed and failed is as good as expired: the chain takes the same message once. */
function judge(transaction: Signed | 'newer' | null, payerSignature: string, signature: string): Verdict | undefined {
  // Our message is of version 0.
  if (transaction === null || transaction === 'newer' || !transaction.signatures.includes(payerSignature)) return undefined;
  const { error, slot } = transaction;
  return error === null ? { state: 'settled', signature, slot } : { state: 'unsettled' };
}

/** What the seller claims the payment's transaction to be. */
export function claimOf({ receipt }: Attempt): string | undefined {
  const claimed = receipt?.settlement?.transaction;
  return claimed === undefined || claimed === '' ? undefined : claimed;
}
