import { parseAmount } from '../../amount.js';
import type { Address } from '../types.js';
import type { Request } from './failover.js';
import { Fault } from './fault.js';
import { asAddress, asFields, asList, asText, errorText, orNull, safeInteger } from './reply.js';
import type { LandedTransaction, TokenBalanceChange } from './rpc.js';
import { COMMITMENT } from './tip.js';

/** The node's refusal of a transaction whose version is above the greatest that is asked for. */
const NEWER_VERSION = -32015;

/** Asks a node for its record of a transaction. */
export async function readTransaction(
  request: Request,
  signature: string,
): Promise<LandedTransaction | 'newer' | null> {
  const config = { commitment: COMMITMENT, maxSupportedTransactionVersion: 0 };
  try {
    return orNull(await request('getTransaction', [signature, config]), readLanded);
  } catch (error) {
    if (error instanceof Fault && error.code === NEWER_VERSION) return 'newer';
    throw error;
  }
}

function readLanded(result: unknown): LandedTransaction {
  const { meta, slot, transaction } = asFields(result);
  if (meta === null) throw new Fault('invalid', 'the transaction comes without its effects');
  const { err, fee, preBalances, postBalances, preTokenBalances, postTokenBalances, ...rest } =
    asFields(meta);
  const { signatures, message } = asFields(transaction);
  const { writable, readonly } = asFields(
    rest['loadedAddresses'] ?? { writable: [], readonly: [] },
  );
  const accounts = [asFields(message)['accountKeys'], writable, readonly].flatMap((keys) =>
    asList(keys).map(asAddress),
  );
  const [before, after] = [asList(preBalances), asList(postBalances)];
  const lamports = new Map<Address, { before: bigint; after: bigint }>();
  accounts.forEach((account, index) => {
    const [held, holds] = [before[index], after[index]];
    // Above 2^53 lamports JSON has rounded the number: better no number than a wrong one.
    if (isExact(held) && isExact(holds))
      lamports.set(account, { before: BigInt(held), after: BigInt(holds) });
  });
  const tokens = [preTokenBalances, postTokenBalances].map((list) => orNull(list, readBalances));
  return {
    slot: safeInteger(slot),
    error: errorText(err),
    signatures: asList(signatures).map(asText),
    feeLamports: BigInt(safeInteger(fee)),
    tokenChanges: readTokenChanges(accounts, tokens[0] ?? [], tokens[1] ?? []),
    tellsTokens: !tokens.includes(null),
    lamports,
  };
}

function isExact(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

interface TokenBalance {
  /** The account's place among those of the transaction. */
  readonly index: number;
  readonly mint: Address;
  readonly owner: unknown;
  readonly amount: bigint;
}

function readBalances(list: unknown): TokenBalance[] {
  return asList(list).map((balance) => {
    const { accountIndex, mint, owner, uiTokenAmount } = asFields(balance);
    const amount = parseAmount(asFields(uiTokenAmount)['amount']);
    if (amount === undefined) throw new Fault('invalid', 'a token balance is not an amount');
    return { index: safeInteger(accountIndex), mint: asAddress(mint), owner, amount };
  });
}

/** An account that is in one list only was opened or closed, which is a balance of zero. */
function readTokenChanges(
  accounts: readonly Address[],
  before: readonly TokenBalance[],
  after: readonly TokenBalance[],
): TokenBalanceChange[] {
  const same = (list: readonly TokenBalance[], { index, mint }: TokenBalance) =>
    list.find((one) => one.index === index && one.mint === mint);
  const opened = after.filter((one) => same(before, one) === undefined);
  return [...before, ...opened].map((balance) => {
    const { index, mint, owner } = balance;
    const account = accounts[index];
    if (account === undefined) throw new Fault('invalid', 'a token balance has no account');
    return {
      account,
      mint,
      owner: asAddress(owner),
      before: same(before, balance)?.amount ?? 0n,
      after: same(after, balance)?.amount ?? 0n,
    };
  });
}
