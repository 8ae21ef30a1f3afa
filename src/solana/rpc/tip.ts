import { isAddress } from '../address.js';
import type { Request } from './failover.js';
import { Fault } from './fault.js';
import { asFields, readContext, readSlot, safeInteger } from './reply.js';
import type { CallOptions, Commitment, Tip } from './rpc.js';

export const COMMITMENT = 'confirmed';

export async function readTip(
  request: Request,
  commitment: Commitment,
  call: CallOptions | undefined,
): Promise<Tip> {
  const { absoluteSlot, blockHeight } = asFields(
    await request('getEpochInfo', [settings(call, commitment)]),
  );
  return { slot: readSlot(absoluteSlot, call), height: BigInt(safeInteger(blockHeight)) };
}

/**
 * Reads the latest blockhash. Checks its height against the node's own height, or an earlier tip.
 */
export async function readBlockhash(
  request: Request,
  earlier: Tip | undefined,
  call: CallOptions | undefined,
): Promise<{ blockhash: string; lastValidBlockHeight: bigint; slot: number }> {
  const [result, first] = await Promise.all([
    request('getLatestBlockhash', [settings(call)]),
    earlier === undefined ? readTip(request, COMMITMENT, call) : undefined,
  ]);
  const { slot, value } = readContext(result, call);
  const { blockhash, lastValidBlockHeight } = asFields(value);
  // A blockhash is 32 bytes in base58, as an address is.
  if (!isAddress(blockhash)) throw new Fault('invalid', 'the blockhash is not one');
  const latest = { slot, lastValidBlockHeight: BigInt(safeInteger(lastValidBlockHeight)) };
  if (
    (earlier === undefined || !followsFrom(latest, earlier)) &&
    !mayLiveUntil(latest, first ?? (await readTip(request, COMMITMENT, call)))
  )
    throw new Fault('invalid', 'the last valid block height does not fit its block height');
  return { blockhash, ...latest };
}

export function settings(
  call: CallOptions | undefined,
  commitment: Commitment = COMMITMENT,
): { readonly commitment: Commitment; readonly minContextSlot?: number } {
  return { commitment, ...leastSlot(call) };
}

export function leastSlot(call: CallOptions | undefined): { readonly minContextSlot?: number } {
  return call?.minContextSlot === undefined ? {} : { minContextSlot: call.minContextSlot };
}

/** Checks addresses here, because a node refuses a bad address with an error of its own. */
export function checked(addresses: readonly string[]): readonly string[] {
  if (!addresses.every(isAddress)) throw new TypeError('Not a Solana address.');
  return addresses;
}

/** Blocks for which a transaction may use a blockhash: Solana's MAX_PROCESSING_AGE. */
const LIFE = 150n;

/** Blocks by which replies may differ if several nodes stand behind one address. */
const SLACK = 32n;

/** At least one in this many slots has a block. A node that shows fewer blocks is wrong. */
const SLOTS_A_BLOCK = 4n;

/** Usually at most one in this many slots has no block. */
const SLOTS_A_SKIP = 8n;

/** The most slots over which an earlier height predicts the next height: about ten minutes. */
const MAX_SLOTS = 1_500;

interface Latest {
  readonly slot: number;
  readonly lastValidBlockHeight: bigint;
}

/**
 * Whether a blockhash can live until its last valid height. It lives for 150 blocks, and a chain
 * grows by at most one block in each slot, and by not much less.
 *
 * @param tip - Tip of the same node, read a little before or after.
 */
export function mayLiveUntil({ slot, lastValidBlockHeight }: Latest, tip: Tip): boolean {
  const grown = grownSince(tip, slot);
  return (
    lastValidBlockHeight > tip.height + grown / SLOTS_A_BLOCK - SLACK &&
    lastValidBlockHeight <= tip.height + grown + LIFE + SLACK
  );
}

/**
 * Whether the last valid height fits an earlier tip, so that the node's height need not be read
 * again. It does not fit if the chain skipped many slots, or if the tip is too old.
 *
 * @param earlier - Result of {@link tipAt} for the same node.
 */
export function followsFrom(latest: Latest, earlier: Tip): boolean {
  const grown = grownSince(earlier, latest.slot);
  const { height } = tipAt(latest);
  const least = earlier.height + grown - grown / SLOTS_A_SKIP - SLACK;
  return grown <= MAX_SLOTS && height >= least && height <= earlier.height + grown + SLACK;
}

/** Returns the tip that a blockhash implies, if it was the latest at its slot. */
export function tipAt({ slot, lastValidBlockHeight }: Latest): Tip {
  return { slot, height: lastValidBlockHeight - LIFE };
}

function grownSince({ slot }: Tip, later: number): bigint {
  return BigInt(Math.max(0, later - slot));
}
