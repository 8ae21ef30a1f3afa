import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import type { AccountMeta } from '../../solana/types.js';
import type { Exposed } from './exposure.js';

const READ_AT_ONCE = 100;

/** Reads any number of accounts, in batches of the most that a node returns at once. */
export async function readExposed(
  rpc: Pick<Rpc, 'accounts'>,
  foreign: readonly AccountMeta[],
  options: CallOptions,
): Promise<Exposed[]> {
  const addresses = foreign.map(({ address }) => address);
  const starts = Array.from(
    { length: Math.ceil(addresses.length / READ_AT_ONCE) },
    (_, index) => index * READ_AT_ONCE,
  );
  const read = await Promise.all(
    starts.map((start) => rpc.accounts(addresses.slice(start, start + READ_AT_ONCE), options)),
  );
  const accounts = read.flatMap((part) => part.accounts);
  return foreign.map(({ address, writable }, index) => ({
    address,
    writable,
    account: accounts[index] ?? null,
  }));
}
