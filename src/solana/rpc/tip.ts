import type { Connection } from '@solana/web3.js';
import { isAddress } from '../address.js';
import { Fault } from './fault.js';
import { followsFrom, mayLiveUntil } from './height.js';
import { safeInteger } from './reply.js';
import type { CallOptions, Commitment, Tip } from './rpc.js';

export const COMMITMENT = 'confirmed';

export async function readTip(
  connection: Connection,
  commitment: Commitment,
  call: CallOptions | undefined,
): Promise<Tip> {
  const { absoluteSlot, blockHeight } = await connection.getEpochInfo({
    ...settings(call),
    commitment,
  });
  return { slot: readSlot({ slot: absoluteSlot }, call), height: BigInt(safeInteger(blockHeight)) };
}

/** Its own height is read beside it, the first time: what a node says of the blockhash is held against that. */
export async function readBlockhash(
  connection: Connection,
  earlier: Tip | undefined,
  call: CallOptions | undefined,
): Promise<{ blockhash: string; lastValidBlockHeight: bigint; slot: number }> {
  const [{ context, value }, first] = await Promise.all([
    connection.getLatestBlockhashAndContext(settings(call)),
    earlier === undefined ? readTip(connection, COMMITMENT, call) : undefined,
  ]);
  // A blockhash is 32 bytes in base58, as an address is.
  if (!isAddress(value.blockhash)) throw new Fault('invalid', 'the blockhash is not one');
  const latest = {
    slot: readSlot(context, call),
    lastValidBlockHeight: BigInt(safeInteger(value.lastValidBlockHeight)),
  };
  if (
    (earlier === undefined || !followsFrom(latest, earlier)) &&
    !mayLiveUntil(latest, first ?? (await readTip(connection, COMMITMENT, call)))
  )
    throw new Fault(
      'invalid',
      'the last valid block height is none that its own block height allows',
    );
  return { blockhash: value.blockhash, ...latest };
}

export function settings(call: CallOptions | undefined): {
  commitment: Commitment;
  minContextSlot?: number;
} {
  return {
    commitment: COMMITMENT,
    ...(call?.minContextSlot === undefined ? {} : { minContextSlot: call.minContextSlot }),
  };
}

/** Not each node and proxy minds the least slot that it is told. */
export function readSlot(
  context: { readonly slot: number },
  call: CallOptions | undefined,
): number {
  const slot = safeInteger(context.slot);
  if (slot < (call?.minContextSlot ?? 0))
    throw new Fault('unavailable', 'it lags behind the slot that is needed');
  return slot;
}
