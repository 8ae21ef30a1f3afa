import type { Account, CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { ACCOUNT_BYTES } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import { accountExists, creationCost, readOwnAccount } from '../accounts/own-account.js';
import { accountBytes, type RawLeg } from '../accounts/read-wallet.js';

/** The temporary SOL account, as the chain has it before a transaction makes it. */
export interface TemporaryBefore {
  readonly leg: { readonly address: Address; readonly account: Account | null };
  readonly rent: bigint;
  readonly vacant: boolean;
}

export async function readTemporary(
  node: Pick<Rpc, 'accounts' | 'rent'>,
  address: Address | undefined,
  options: CallOptions,
): Promise<TemporaryBefore | undefined> {
  if (address === undefined) return undefined;
  const [{ accounts }, rent] = await Promise.all([
    node.accounts([address], options),
    node.rent(ACCOUNT_BYTES, options),
  ]);
  const account = accounts[0] ?? null;
  return { leg: { address, account }, rent, vacant: !accountExists(account) };
}

/**
 * Reads two amounts for each created account that does not exist yet: the lamports that it takes to
 * create it, and the lamports at its address that `SyncNative` would then count.
 */
export async function readCreationCosts(
  node: Pick<Rpc, 'rent'>,
  wallet: Address,
  created: readonly Address[],
  legs: readonly RawLeg[],
  options: CallOptions,
): Promise<ReadonlyMap<Address, ReturnType<typeof creationCost>>> {
  const missing = legs.filter(
    ({ address, account }) => created.includes(address) && !accountExists(account),
  );
  const made = await Promise.all(
    missing.map(async (leg) => {
      const rent = await node.rent(accountBytes(leg.mint), options);
      return [leg.address, creationCost(readOwnAccount(wallet, leg), rent)] as const;
    }),
  );
  return new Map(made);
}
