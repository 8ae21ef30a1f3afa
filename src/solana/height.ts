import type { Tip } from './rpc.js';

/** How long a node's block height is good enough to judge what it says of blockhashes, in milliseconds. */
const MAX_AGE_MS = 30_000;

/** Blocks for which a transaction may use a blockhash: Solana's MAX_PROCESSING_AGE. */
const LIFE = 150n;

/** Blocks by which the replies of one address may differ that several nodes answer for. */
const SLACK = 32n;

/** Of so many slots in a row at least one has a block: a slot that ran away from the height is a wrong one. */
const SLOTS_A_BLOCK = 4n;

/** A node's block height, for as long as it is recent. */
export interface KnownHeight {
  recent(): Tip | undefined;
}

export function knownHeight(tip: Tip, now: () => number): KnownHeight {
  const at = now();
  // A clock that is set back makes it old.
  return { recent: () => (now() >= at && now() - at < MAX_AGE_MS ? tip : undefined) };
}

/**
 * Whether a blockhash that was the latest at a slot can live until a height: it lives for 150 blocks, and a chain grows by at most one block a
 * slot, and by not many fewer.
 *
 * @param tip - Of the same node, a little before or after.
 */
export function mayLiveUntil(lastValidBlockHeight: bigint, slot: number, tip: Tip): boolean {
  const grown = BigInt(Math.max(0, slot - tip.slot));
  return lastValidBlockHeight > tip.height + grown / SLOTS_A_BLOCK - SLACK && lastValidBlockHeight <= tip.height + grown + LIFE + SLACK;
}
