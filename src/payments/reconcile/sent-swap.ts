import type { SignedSwap } from '../../journal/types.js';
import { WSOL_MINT } from '../../network.js';
import type { Landing } from '../../solana/transactions/confirm.js';
import type { Address } from '../../solana/types.js';
import type { Claim } from './claim.js';
import type { Fate } from './fate.js';
import { readingOf, SLOT_MARGIN, type Sent } from './sent-transaction.js';

/**
 * What the chain is asked about a signed swap. One that sells SOL takes lamports of the wallet, and
 * pays its fee there.
 */
export function sentSwap(
  {
    signature,
    relay,
    inputMint,
    source,
    before,
    blockhash,
    blockhashSlot,
    lastValidBlockHeight,
  }: Omit<SignedSwap, 'transaction' | 'quoted'>,
  wallet: Address,
): Sent {
  return {
    // A relayer can sign the same message again: only our own signature is sure to be in what lands.
    ...(relay === undefined
      ? { signature, isId: true }
      : { signature: relay.payerSignature, isId: false, claim: seen(signature), mint: inputMint }),
    ...{ blockhash, blockhashSlot, lastValidBlockHeight: BigInt(lastValidBlockHeight) },
    source:
      inputMint === WSOL_MINT
        ? { account: wallet, unit: 'lamports' }
        : { account: source, unit: 'tokens' },
    before: readingOf(before),
    slot: Math.max(0, blockhashSlot - SLOT_MARGIN),
  };
}

/** The relayer's signature was verified before it was put on record. */
function seen(id: string): Claim {
  return { id, isProven: () => Promise.resolve(true) };
}

/** A fate as what became of a transaction of ours that is being sent. */
export function landingOf(fate: Fate): Landing {
  if (fate.state === 'open') return { outcome: 'unknown' };
  if (fate.state === 'never') return { outcome: 'expired' };
  const { slot, error, signature } = fate;
  return error === null
    ? { outcome: 'confirmed', slot, signature }
    : { outcome: 'failed', error, slot, signature };
}
