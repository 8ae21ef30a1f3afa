import { throwIfAborted } from '../../internal/abort.js';
import type { Runtime } from '../../internal/runtime.js';
import { shareWork, type Join } from '../../internal/shared-work.js';
import type { Address } from '../types.js';
import type { CallOptions, Rpc } from './rpc.js';

/** Of one `getMultipleAccounts`. */
const MAX_ADDRESSES = 100;

type Answer = Awaited<ReturnType<Rpc['accounts']>>;

interface Batch {
  /** Where each address is among those that are asked for. */
  readonly positions: Map<Address, number>;
  readonly join: Join<Answer>;
}

/**
 * Reads accounts for calls of the same turn of the event loop in one request, each address once. A
 * call is never split: its accounts are of one slot. What goes wrong goes wrong for all that were
 * asked for together; a caller that gives up leaves the others theirs.
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
    // Of the slot that one needs, the others know nothing.
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
  const more = new Set(addresses.filter((address) => !positions.has(address)));
  return positions.size + more.size <= MAX_ADDRESSES;
}
