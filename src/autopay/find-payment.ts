import type { Attempt, SignedPayment } from '../journal/types.js';
import type { LandedTransaction, Rpc } from '../solana/rpc.js';

/** What the chain says about a signed payment. */
export type Verdict =
  { readonly state: 'settled'; readonly signature: string } | { readonly state: 'unsettled' } | { readonly state: 'open' };

// More than a wallet's token account sees in the life of a blockhash; the most that nodes give in one answer.
const PAGE = 1_000;

// A transaction id is the fee payer's signature, which only the facilitator makes; ours is inside.
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/**
 * Asks the chain once. Our own signature among a landed transaction's is the proof; a finalized block height above the
 * payment's last, with nothing found, proves that it can never land.
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
  if (claim !== undefined && SIGNATURE.test(claim)) {
    const verdict = judge(await rpc.transaction(claim, { signal }), payment.payerSignature, claim);
    if (verdict !== undefined) return verdict;
  }
  // The height is read before the search: what landed up to then is in what the search sees.
  const height = await rpc.blockHeight('finalized', { signal });
  const found = await search(rpc, payment, seen, signal);
  if (found !== undefined) return found;
  return { state: height > BigInt(payment.lastValidBlockHeight) ? 'unsettled' : 'open' };
}

async function search(rpc: Rpc, payment: SignedPayment, seen: Set<string>, signal: AbortSignal): Promise<Verdict | undefined> {
  for (const { signature, slot, memo } of await rpc.signaturesFor(payment.source, { limit: PAGE, signal })) {
    const possible = slot >= payment.slot && (payment.memo === undefined || memo?.includes(payment.memo) === true);
    if (!possible || seen.has(signature)) continue;
    const transaction = await rpc.transaction(signature, { signal });
    const verdict = judge(transaction, payment.payerSignature, signature);
    if (verdict !== undefined) return verdict;
    if (transaction !== null) seen.add(signature);
  }
  return undefined;
}

/** One that landed and failed is as good as expired: the chain takes the same message once. */
function judge(transaction: LandedTransaction | null, payerSignature: string, signature: string): Verdict | undefined {
  if (transaction === null || !transaction.signatures.includes(payerSignature)) return undefined;
  return transaction.error === null ? { state: 'settled', signature } : { state: 'unsettled' };
}

/** What the seller claims the payment's transaction to be. */
export function claimOf({ receipt }: Attempt): string | undefined {
  const claimed = receipt?.settlement?.transaction;
  return claimed === undefined || claimed === '' ? undefined : claimed;
}
