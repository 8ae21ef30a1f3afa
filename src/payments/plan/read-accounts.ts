import type { Account } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';

const MAX_ADDRESSES_A_CALL = 100;

/** Accounts by address, each with the slot as of which it was read; null if it does not exist. */
export type Read = ReadonlyMap<
  Address,
  { readonly account: Account | null; readonly slot: number }
>;

export async function readAccounts(
  { rpc }: Pick<PaymentContext, 'rpc'>,
  addresses: readonly Address[],
  signal: AbortSignal | undefined,
): Promise<Read> {
  const found = new Map<Address, { readonly account: Account | null; readonly slot: number }>();
  for (let from = 0; from < addresses.length; from += MAX_ADDRESSES_A_CALL) {
    const page = addresses.slice(from, from + MAX_ADDRESSES_A_CALL);
    const { slot, accounts } = await rpc.accounts(page, { signal });
    page.forEach((address, index) =>
      found.set(address, { account: accounts[index] ?? null, slot }),
    );
  }
  return found;
}
