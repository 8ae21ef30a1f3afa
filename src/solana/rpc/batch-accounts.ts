import { throwIfAborted } from '../../internal/abort.js';
import type { Runtime } from '../../internal/runtime.js';
import { shareWork, type Join } from '../../internal/shared-work.js';
import type { Address } from '../types.js';
import type { CallOptions, Rpc } from './rpc.js';

/** The most addresses of one `getMultipleAccounts`. */
const MAX_ADDRESSES = 100;

type Answer = Awaited<ReturnType<Rpc['accounts']>>;

interface Batch {
  /** Index of each address in the request. */
  readonly positions: Map<Address, number>;
  readonly join: Join<Answer>;
}

/**
 * Joins calls of the same turn of the event loop in one request, with each address once. A call is
 * never split, so that its accounts are of one slot. If the request fails, all of its calls fail.
 * An abort ends only the call that it is for.
 */
export function batchAccounts(
  rpc: Pick<Rpc, 'accounts'>,
  runtime: Pick<Runtime, 'sleep'>,
): Rpc['accounts'] {
  let open: Batch | undefined;

  const startBatch = (): Batch => {
    const positions = new Map<Address, number>();
    const close = () => {
      if (open === batch) open = undefined;
    };
    const join = shareWork(async (signal) => {
      await runtime.sleep(0, signal);
      close();
      return rpc.accounts([...positions.keys()], { signal });
    }, close);
    const batch = { positions, join };
    return batch;
  };

  return async (addresses, call: CallOptions = {}) => {
    // Such a call goes alone: the other calls do not need its minimum slot.
    if (call.minContextSlot !== undefined || addresses.length > MAX_ADDRESSES)
      return rpc.accounts(addresses, call);
    throwIfAborted(call.signal);
    open = open !== undefined && fits(open, addresses) ? open : startBatch();
    const { positions, join } = open;
    for (const address of addresses)
      if (!positions.has(address)) positions.set(address, positions.size);
    const answer = await join(call.signal);
    return {
      slot: answer.slot,
      accounts: addresses.map((address) => answer.accounts[positions.get(address) ?? -1] ?? null),
    };
  };
}

function fits({ positions }: Batch, addresses: readonly Address[]): boolean {
  const added = new Set(addresses.filter((address) => !positions.has(address)));
  return positions.size + added.size <= MAX_ADDRESSES;
}
