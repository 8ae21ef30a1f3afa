import { systemRuntime } from '../../../src/internal/runtime.js';
import {
  changed,
  emptyBalance,
  taking,
  type BalanceChange,
  type Taken,
} from '../../../src/journal/account-balance.js';
import type { Along, Attempt, Hold, Owner } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { hasReaders } from '../../../src/outbox/store.js';
import { withTexts } from '../balance-json.js';
import { lockName } from '../shared-locks.js';
import type { FileRecord } from './records.js';
import { accountName, accountOf, type State } from './state.js';

/** Returns the record of a balance change; empty if the change has no effect. */
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

/** Returns the record that releases the claims of a process; empty if it has none of the ids. */
export function dropRecords({ claims }: State, me: string, ids: readonly string[]): FileRecord[] {
  const claimed = ids.filter((id) => claims.get(id)?.has(me) === true);
  return claimed.length === 0 ? [] : [{ drop: claimed }];
}

/** Returns the records that free locks; empty for locks that a process no longer has. */
export function unlockRecords({ locks }: State, me: string, names: readonly string[]) {
  return names.flatMap((unlock) => (locks.get(unlock) === me ? [{ unlock }] : []));
}

/** Returns the records of claims and balances that go along with the write of an attempt. */
export function alongRecords(
  state: State,
  me: string,
  { id, ...owner }: Pick<Attempt, 'id'> & Partial<Owner>,
  { claim = [], drop = [], spend, free = [] }: Along,
): FileRecord[] {
  const holdEnds: readonly (readonly [string, BalanceChange])[] = [
    ...(spend === undefined ? [] : [[spend.account, { spend: id, slot: spend.slot }] as const]),
    ...free.map((account) => [account, { release: id }] as const),
  ];
  return [
    ...(claim.length === 0 ? [] : [{ claim }]),
    ...dropRecords(state, me, drop),
    ...holdEnds.flatMap(([account, change]) =>
      ownersOf(state, owner, account).flatMap((accountOwner) =>
        balanceRecords(state, accountOwner, account, change),
      ),
    ),
  ];
}

/** Returns the owner of an account; if unknown (the attempt is gone), all owners with a balance. */
function ownersOf(
  { balances }: State,
  { wallet, network }: Partial<Owner>,
  account: string,
): Owner[] {
  if (wallet !== undefined && network !== undefined) return [{ wallet, network }];
  const accounts = [...balances.keys()].map(accountOf);
  return accounts.flatMap((entry) =>
    entry[2] === account ? [{ wallet: entry[0], network: entry[1] }] : [],
  );
}

/** Holds tokens of an account for an attempt, if the known balance allows it. */
export function holdStep(
  state: State,
  attempt: Attempt,
  { account, fresh, unless }: Hold,
): { readonly records: readonly FileRecord[]; readonly result: Taken } | undefined {
  if (state.locks.has(lockName(attempt, unless))) return undefined;
  const { id, amount } = attempt;
  const balance = state.balances.get(accountName(attempt, account)) ?? emptyBalance;
  const { change, result } = taking(balance, id, BigInt(amount), fresh);
  return (
    result && {
      records: change === undefined ? [] : balanceRecords(state, attempt, account, change),
      result,
    }
  );
}

/** Returns the events of a change of an attempt, if events are kept or an endpoint exists. */
export function eventRecords(
  { outbox }: State,
  keepsEvents: boolean,
  before: Attempt,
  after: Attempt | undefined,
): FileRecord[] {
  if (!keepsEvents && !hasReaders(outbox)) return [];
  return outbox.adding(jobsOf(before, after, systemRuntime.now()));
}

/**
 * Whether a change records a new signed payment or swap. The transaction is sent next, so its
 * record must be on the disk first.
 */
export function isSigned(before: Attempt | undefined, { payment, swap }: Attempt): boolean {
  return (
    payment?.payerSignature !== before?.payment?.payerSignature ||
    swap?.signature !== before?.swap?.signature
  );
}

/** Returns records that restore the previous attempt and remove the events of its change. */
export function inverseOf(
  restore: FileRecord,
  events: readonly FileRecord[],
): readonly FileRecord[] {
  return [
    restore,
    ...events.flatMap((record) => ('job' in record ? [{ jobDone: record.job.id }] : [])),
  ];
}
