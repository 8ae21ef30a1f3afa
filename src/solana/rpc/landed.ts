import type { VersionedTransactionResponse } from '@solana/web3.js';
import { parseAmount } from '../../amount.js';
import { isAddress } from '../address.js';
import type { Address } from '../types.js';
import { Fault } from './fault.js';
import { errorText, safeInteger } from './reply.js';
import type { LandedTransaction, TokenBalanceChange } from './rpc.js';

/** Reads the node's record of a transaction. */
export function readLanded(response: VersionedTransactionResponse): LandedTransaction {
  const { meta, slot, transaction } = response;
  if (meta === null) throw new Fault('invalid', 'the transaction comes without its effects');
  const loaded = meta.loadedAddresses;
  const accounts = [
    ...transaction.message.staticAccountKeys,
    ...(loaded?.writable ?? []),
    ...(loaded?.readonly ?? []),
  ].map(String);
  const lamports = new Map<Address, { before: bigint; after: bigint }>();
  accounts.forEach((account, index) => {
    const before = meta.preBalances[index];
    const after = meta.postBalances[index];
    // Above 2^53 lamports JSON has rounded the number: better no number than a wrong one.
    if (!Number.isSafeInteger(before) || !Number.isSafeInteger(after)) return;
    lamports.set(account, { before: BigInt(before ?? 0), after: BigInt(after ?? 0) });
  });
  return {
    slot: safeInteger(slot),
    error: errorText(meta.err),
    signatures: transaction.signatures,
    feeLamports: BigInt(safeInteger(meta.fee)),
    tokenChanges: readTokenChanges(
      accounts,
      meta.preTokenBalances ?? [],
      meta.postTokenBalances ?? [],
    ),
    tellsTokens: Array.isArray(meta.preTokenBalances) && Array.isArray(meta.postTokenBalances),
    lamports,
  };
}

type TokenBalance = NonNullable<
  NonNullable<VersionedTransactionResponse['meta']>['preTokenBalances']
>[number];

/** An account that is in one list only was opened or closed, which is a balance of zero. */
function readTokenChanges(
  accounts: readonly Address[],
  before: readonly TokenBalance[],
  after: readonly TokenBalance[],
): TokenBalanceChange[] {
  const amountIn = (list: readonly TokenBalance[], { accountIndex, mint }: TokenBalance) => {
    const found = list.find((one) => one.accountIndex === accountIndex && one.mint === mint);
    const amount = found === undefined ? 0n : parseAmount(found.uiTokenAmount.amount);
    if (amount === undefined) throw new Fault('invalid', 'a token balance is not an amount');
    return amount;
  };
  const opened = after.filter(
    (one) =>
      !before.some((other) => other.accountIndex === one.accountIndex && other.mint === one.mint),
  );
  return [...before, ...opened].map((balance) => {
    const { mint, owner } = balance;
    const account = accounts[balance.accountIndex];
    if (account === undefined || !isAddress(mint) || !isAddress(owner))
      throw new Fault('invalid', 'a token balance has no account');
    return {
      account,
      mint,
      owner,
      before: amountIn(before, balance),
      after: amountIn(after, balance),
    };
  });
}
