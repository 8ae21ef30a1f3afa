import { isAddress } from '../address.js';
import type { Request } from './failover.js';
import { Fault } from './fault.js';
import { followsFrom, mayLiveUntil } from './height.js';
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

/** Its own height is read beside it, the first time: what a node says of the blockhash is held against that. */
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
    throw new Fault(
      'invalid',
      'the last valid block height is none that its own block height allows',
    );
  return { blockhash, ...latest };
}

/** What a question says of the state that it is about. */
export function settings(
  call: CallOptions | undefined,
  commitment: Commitment = COMMITMENT,
): { readonly commitment: Commitment; readonly minContextSlot?: number } {
  return { commitment, ...leastSlot(call) };
}

export function leastSlot(call: CallOptions | undefined): { readonly minContextSlot?: number } {
  return call?.minContextSlot === undefined ? {} : { minContextSlot: call.minContextSlot };
}

/** A node would refuse anything else, in words of its own. */
export function checked(addresses: readonly string[]): readonly string[] {
  if (!addresses.every(isAddress)) throw new TypeError('Not a Solana address.');
  return addresses;
}
