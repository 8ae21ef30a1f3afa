import { parseAmount } from '../../amount.js';
import { base64 } from '../../internal/bytes.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { readInner } from '../transactions/inner.js';
import type { Address } from '../types.js';
import type { Request } from './failover.js';
import { Fault } from './fault.js';
import {
  asAddress,
  asAddresses,
  asAnswers,
  asFields,
  asList,
  asRecords,
  asText,
  errorText,
  orNull,
  rawErrorText,
  readAccount,
  readContext,
  safeInteger,
} from './reply.js';
import type { CallOptions, LandedTransaction, Rpc, Simulation, TokenBalanceChange } from './rpc.js';
import { checked, COMMITMENT, leastSlot, settings } from './tip.js';

// Code that a payment does not need if it settles as its seller says. It has one entry, so that it
// is one chunk of a bundle.
export { cacheAnswers } from './kept-answers.js';
export { createSignatureSocket } from './signature-socket.js';
export { toTransportError } from './transport-error.js';

export type Ask = <T>(
  method: string,
  params: readonly unknown[],
  call: CallOptions | undefined,
  read: (result: unknown) => T,
) => Promise<T>;

/** The methods of {@link Rpc} for swaps, and for payments that their seller does not prove. */
export function rareMethods(
  ask: Ask,
): Pick<Rpc, 'tokenAccounts' | 'firstSlot' | 'rent' | 'priorityFees' | 'send' | 'signaturesFor'> {
  return {
    tokenAccounts: async (owner, call) => {
      const config = { ...settings(call), encoding: 'base64' };
      const ofProgram = (programId: string) => {
        const params = [...checked([owner]), { programId }, config];
        return ask('getTokenAccountsByOwner', params, call, (result) => {
          const { slot, value } = readContext(result, call);
          const accounts = asRecords(value).map(({ pubkey, account }) => ({
            address: asAddress(pubkey),
            account: readAccount(account),
          }));
          return { slot, accounts };
        });
      };
      const [classic, extended] = await Promise.all([
        ofProgram(TOKEN_PROGRAM),
        ofProgram(TOKEN_2022_PROGRAM),
      ]);
      return {
        slot: Math.min(classic.slot, extended.slot),
        accounts: [...classic.accounts, ...extended.accounts],
      };
    },

    firstSlot: (call) => ask('getFirstAvailableBlock', [], call, safeInteger),

    rent: (bytes, call) =>
      ask('getMinimumBalanceForRentExemption', [bytes, settings(undefined)], call, (result) => {
        const lamports = safeInteger(result);
        if (lamports === 0) throw new Fault('invalid', 'rent is never zero');
        return BigInt(lamports);
      }),

    priorityFees: async (accounts, call) =>
      ask('getRecentPrioritizationFees', [checked(accounts)], call, (result) =>
        asRecords(result).map(({ prioritizationFee }) => BigInt(safeInteger(prioritizationFee))),
      ),

    send: (transaction, call) => {
      const config = {
        encoding: 'base64',
        skipPreflight: true,
        maxRetries: 0,
        ...leastSlot(call),
      };
      return ask('sendTransaction', [base64.encode(transaction), config], call, () => undefined);
    },

    signaturesFor: async (address, call) => {
      const { limit, before } = call ?? {};
      const config = { commitment: COMMITMENT, limit, before, ...leastSlot(call) };
      const params = [...checked([address]), config];
      return ask('getSignaturesForAddress', params, call, (result) =>
        asRecords(result).map(({ signature, slot, err, memo }) => ({
          signature: asText(signature),
          slot: safeInteger(slot),
          error: errorText(err),
          memo: orNull(memo, asText),
        })),
      );
    },
  };
}

export async function simulate(
  request: Request,
  transaction: Uint8Array,
  watch: readonly Address[],
  call: CallOptions | undefined,
): Promise<Simulation> {
  const config = {
    ...settings(call),
    encoding: 'base64',
    sigVerify: false,
    replaceRecentBlockhash: true,
    innerInstructions: true,
    accounts: { encoding: 'base64', addresses: watch },
  };
  const result = await request('simulateTransaction', [base64.encode(transaction), config]);
  const { slot, value } = readContext(result, call);
  const { err, logs, accounts, unitsConsumed, innerInstructions } = asFields(value);
  const shown = orNull(accounts, asList) ?? [];
  const error = rawErrorText(err);
  // A transaction that fails before it runs has no accounts in its result.
  if (error === null) asAnswers(shown, watch, 'accounts');
  return {
    slot,
    error,
    logs: orNull(logs, asList)?.map(asText) ?? [],
    unitsConsumed: BigInt(safeInteger(unitsConsumed ?? 0)),
    accounts: watch.map((_, index) => orNull(shown[index], readAccount)),
    inner: orNull(innerInstructions, readInner) ?? undefined,
  };
}

/** Code with which a node refuses a transaction of a version above the requested maximum. */
const NEWER_VERSION = -32015;

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
  const {
    err,
    fee,
    preBalances,
    postBalances,
    preTokenBalances,
    postTokenBalances,
    ...otherFields
  } = asFields(meta);
  const { signatures, message } = asFields(transaction);
  const { writable, readonly } = asFields(
    otherFields['loadedAddresses'] ?? { writable: [], readonly: [] },
  );
  const accounts = [asFields(message)['accountKeys'], writable, readonly].flatMap(asAddresses);
  const [before, after] = [asList(preBalances), asList(postBalances)];
  const lamports = new Map<Address, { before: bigint; after: bigint }>();
  accounts.forEach((account, index) => {
    const [lamportsBefore, lamportsAfter] = [before[index], after[index]];
    // JSON rounds a number above 2^53 lamports. A missing number is better than a wrong number.
    if (isExact(lamportsBefore) && isExact(lamportsAfter))
      lamports.set(account, { before: BigInt(lamportsBefore), after: BigInt(lamportsAfter) });
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
  readonly index: number;
  readonly mint: Address;
  readonly amount: bigint;
}

function readBalances(list: unknown): TokenBalance[] {
  return asRecords(list).map(({ accountIndex, mint, uiTokenAmount }) => {
    const amount = parseAmount(asFields(uiTokenAmount)['amount']);
    if (amount === undefined) throw new Fault('invalid', 'a token balance is not an amount');
    return { index: safeInteger(accountIndex), mint: asAddress(mint), amount };
  });
}

/**
 * Computes the changes. An account in one list only was opened or closed: its other balance is 0.
 */
function readTokenChanges(
  accounts: readonly Address[],
  before: readonly TokenBalance[],
  after: readonly TokenBalance[],
): TokenBalanceChange[] {
  const balanceIn = (list: readonly TokenBalance[], { index, mint }: TokenBalance) =>
    list.find((balance) => balance.index === index && balance.mint === mint);
  const opened = after.filter((balance) => balanceIn(before, balance) === undefined);
  return [...before, ...opened].map((balance) => {
    const { index, mint } = balance;
    const account = accounts[index];
    if (account === undefined) throw new Fault('invalid', 'a token balance has no account');
    return {
      account,
      mint,
      before: balanceIn(before, balance)?.amount ?? 0n,
      after: balanceIn(after, balance)?.amount ?? 0n,
    };
  });
}
