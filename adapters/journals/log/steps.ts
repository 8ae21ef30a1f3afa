import { systemRuntime } from '../../../src/internal/runtime.js';
import {
  changed,
  emptyBalance,
  taking,
  type BalanceChange,
} from '../../../src/journal/account-balance.js';
import type { Taken } from '../../../src/journal/balance-ledger.js';
import type { Along, Attempt, Hold, Owner } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { hasReaders } from '../../../src/outbox/store.js';
import { withTexts } from '../balance-json.js';
import type { FileRecord } from './records.js';
import { accountName, accountOf, type State } from './state.js';

export function lockName({ wallet, network }: Owner, name: string): string {
  return JSON.stringify([wallet, network, name]);
}

/** What changes a balance, if it changes anything. */
export function balanceRecords(
  { balances }: State,
  owner: Owner,
  account: string,
  change: BalanceChange,
): FileRecord[] {
  const name = accountName(owner, account);
  const balance = balances.get(name) ?? emptyBalance;
  if (changed(balance, change) === balance) return [];
  return [{ balance: [...accountOf(name), withTexts(change)] }];
}

/** What a process no longer claims, of what it does. */
export function dropRecords({ claims }: State, me: string, ids: readonly string[]): FileRecord[] {
  const own = ids.filter((id) => claims.get(id)?.has(me) === true);
  return own.length === 0 ? [] : [{ drop: own }];
}

/** What goes along with the write of an attempt. */
export function alongRecords(
  state: State,
  me: string,
  { id, ...owner }: Pick<Attempt, 'id'> & Partial<Owner>,
  { claim = [], drop = [], spend, free = [] }: Along,
): FileRecord[] {
  const ends: readonly (readonly [string, BalanceChange])[] = [
    ...(spend === undefined ? [] : [[spend.account, { spend: id, slot: spend.slot }] as const]),
    ...free.map((account) => [account, { release: id }] as const),
  ];
  return [
    ...(claim.length === 0 ? [] : [{ claim }]),
    ...dropRecords(state, me, drop),
    ...ends.flatMap(([account, change]) =>
      ownersOf(state, owner, account).flatMap((one) => balanceRecords(state, one, account, change)),
    ),
  ];
}

/** Whose an account is; of an attempt that is gone it is not known. */
function ownersOf(
  { balances }: State,
  { wallet, network }: Partial<Owner>,
  account: string,
): Owner[] {
  if (wallet !== undefined && network !== undefined) return [{ wallet, network }];
  const all = [...balances.keys()].map(accountOf);
  return all.flatMap((one) => (one[2] === account ? [{ wallet: one[0], network: one[1] }] : []));
}

/** Holds tokens for an attempt, if they are there and may be taken. */
export function holdStep(
  state: State,
  attempt: Attempt,
  { account, fresh, unless }: Hold,
): { readonly records: readonly FileRecord[]; readonly result: Taken } | undefined {
  if (state.locks.has(lockName(attempt, unless))) return undefined;
  const { id, amount } = attempt;
  const balance = state.balances.get(accountName(attempt, account)) ?? emptyBalance;
  const taken = taking(balance, id, BigInt(amount), fresh);
  return (
    taken && {
      records: balanceRecords(state, attempt, account, { hold: id, amount: BigInt(amount) }),
      result: { before: taken.before },
    }
  );
}

/** What is to be told of a change of an attempt, if events are kept or there is one to be told. */
export function toldRecords(
  { outbox }: State,
  keepsEvents: boolean,
  before: Attempt,
  after: Attempt | undefined,
): FileRecord[] {
  if (!keepsEvents && !hasReaders(outbox)) return [];
  return outbox.adding(jobsOf(before, after, systemRuntime.now()));
}

/**
 * Whether a change of an attempt puts something signed on record: that may leave next, and so has to
 * be on the disk.
 */
export function isSigned(before: Attempt | undefined, { payment, swap }: Attempt): boolean {
  return (
    payment?.payerSignature !== before?.payment?.payerSignature ||
    swap?.signature !== before?.swap?.signature
  );
}

/** What takes back a change, and what was to be told of it. */
export function inverseOf(change: FileRecord, told: readonly FileRecord[]): readonly FileRecord[] {
  return [change, ...told.flatMap((one) => ('job' in one ? [{ jobDone: one.job.id }] : []))];
}
