import { isRecord } from '../../../src/internal/record.js';
import type { Remembered } from '../../../src/journal/spent-keys.js';
import type { SpentAt, SpentPeriod } from '../../../src/journal/spending.js';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import type { Attempt, Owner } from '../../../src/journal/types.js';
import { isEndpoint, isOutboxJob } from '../../../src/outbox/json.js';
import type { OutboxRecord } from '../../../src/outbox/store.js';
import { isProcessId, type ProcessId } from './process-id.js';

/** A change of the journal's state. FORMAT.md describes the records for other languages. */
export type FileRecord =
  | { readonly put: Attempt }
  | { readonly release: string }
  /** Attempt ids that the writer claims, and ids of claims that it releases. */
  | { readonly claim: readonly string[] }
  | { readonly drop: readonly string[] }
  /** Names that the writer locks and unlocks. */
  | { readonly lock: string }
  | { readonly unlock: string }
  /** The current number of the counter of a name. */
  | { readonly count: readonly [name: string, number: number] }
  /** A change of a balance, with decimal strings. */
  | { readonly balance: readonly [...Account, change: object] }
  /** The process of the writer; its first record. */
  | { readonly seat: ProcessId }
  /** The id of a process that has ended: its claims, locks and jobs are free. */
  | { readonly gone: string }
  /** Bytes of the file that are on the disk. */
  | { readonly synced: number }
  /** True if no more lines count, because a new file replaces this file. False takes it back. */
  | { readonly sealed: boolean }
  | OutboxRecord
  | Snapshot;

type Account = readonly [wallet: string, network: string, account: string];

/** Records at the beginning of a rewritten file. */
type Snapshot =
  /** Number of attempts that were made before the next attempt of the file. */
  | { readonly made: number }
  /** Sums that attempts took, by seller, unit and period. */
  | { readonly spent: SpentJson }
  /** Keys of finished purchases, each with a brief or with the attempt's place in the history. */
  | { readonly keys: KeysJson }
  /** The current balance of an account, with decimal strings. */
  | { readonly book: readonly [...Account, balance: object] }
  /** Bytes of the history. */
  | { readonly history: number };

export interface KeysJson extends Owner {
  /** Each key with its attempt, and about when that ended: milliseconds since the epoch. */
  readonly keys: readonly (readonly [key: string, one: Remembered, at: number])[];
}

export interface SpentJson extends Omit<SpentAt, 'spent'> {
  /** Start, end and spent amount of each period, by unit. */
  readonly spent: Readonly<Record<string, readonly (readonly [number, number, string])[]>>;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isOwner = (value: unknown): value is Owner =>
  isRecord(value) && isText(value['wallet']) && isText(value['network']);
const isAmount = (value: unknown): boolean => isText(value) && /^[0-9]+$/.test(value);
const isSlot = (value: unknown): boolean => value === undefined || isNumber(value);
const isListOf = (value: unknown, isItem: (item: Readonly<Record<string, unknown>>) => boolean) =>
  Array.isArray(value) && value.every((item) => isRecord(item) && isItem(item));
const isOfAccount = (
  value: unknown,
  isContent: (content: Readonly<Record<string, unknown>>) => boolean,
) =>
  Array.isArray(value) &&
  value.length === 4 &&
  isTexts(value.slice(0, 3)) &&
  isRecord(value[3]) &&
  isContent(value[3]);

const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  put: isAttempt,
  release: isText,
  claim: isTexts,
  drop: isTexts,
  lock: isText,
  unlock: isText,
  count: (value) => Array.isArray(value) && isText(value[0]) && isNumber(value[1]),
  balance: (value) => isOfAccount(value, isChange),
  seat: isProcessId,
  gone: isText,
  synced: isNumber,
  sealed: (value) => typeof value === 'boolean',
  job: isOutboxJob,
  jobDone: isText,
  taken: (value) => Array.isArray(value) && isNumber(value[0]) && isTexts(value.slice(1)),
  endpoint: isEndpoint,
  endpointGone: isText,
  made: isNumber,
  spent: isSpent,
  keys: (value) => isOwner(value) && 'keys' in value && isPlaces(value.keys),
  book: (value) => isOfAccount(value, isBalance),
  history: isNumber,
};

/** Returns the records of a line and its writer's id; undefined if a record is unknown. */
export function readRecords(
  value: unknown,
): { readonly by: string; readonly records: readonly FileRecord[] } | undefined {
  if (!Array.isArray(value)) return undefined;
  const [by, ...records] = value as readonly unknown[];
  return isText(by) && records.every(isFileRecord) ? { by, records } : undefined;
}

function isFileRecord(value: unknown): value is FileRecord {
  if (!isRecord(value)) return false;
  const [[name, content] = [''], ...others] = Object.entries(value);
  const isKnown = Object.prototype.hasOwnProperty.call(checks, name);
  return others.length === 0 && isKnown && checks[name]?.(content) === true;
}

function isChange(change: Readonly<Record<string, unknown>>): boolean {
  const { see, moved, forget, hold, amount, spend, slot, release } = change;
  if (see !== undefined) return isRecord(see) && isKnown(see) && /^-?[0-9]+$/.test(String(moved));
  if (hold !== undefined) return isText(hold) && isAmount(amount);
  if (spend !== undefined) return isText(spend) && isSlot(slot);
  return forget === true || isText(release);
}

function isKnown({ amount, at, slot }: Readonly<Record<string, unknown>>): boolean {
  return isAmount(amount) && isNumber(at) && isSlot(slot);
}

function isBalance(balance: Readonly<Record<string, unknown>>): boolean {
  const { known, reading, made, holds, spent } = balance;
  return (
    (known === undefined || (isRecord(known) && isKnown(known) && isNumber(known['doubtful']))) &&
    (reading === undefined ||
      (isRecord(reading) && isAmount(reading['amount']) && isNumber(reading['slot']))) &&
    isNumber(made) &&
    isListOf(
      holds,
      (hold) => isText(hold['id']) && isAmount(hold['amount']) && isNumber(hold['ordinal']),
    ) &&
    isListOf(
      spent,
      (entry) => isText(entry['id']) && isAmount(entry['amount']) && isSlot(entry['slot']),
    )
  );
}

function isPlaces(value: unknown): boolean {
  const isPlace = (entry: unknown) =>
    Array.isArray(entry) &&
    isText(entry[0]) &&
    (isNumber(entry[1]) || isText(entry[1])) &&
    isNumber(entry[2]);
  return Array.isArray(value) && value.every(isPlace);
}

function isSpent(value: unknown): boolean {
  if (!isOwner(value) || !isRecord(value) || !isRecord(value['spent'])) return false;
  const { host, payTo, mint, spent } = value;
  const isPeriod = (period: unknown) =>
    Array.isArray(period) && isNumber(period[0]) && isNumber(period[1]) && isAmount(period[2]);
  return (
    isTexts([host, payTo, mint]) &&
    Object.values(spent).every((periods) => Array.isArray(periods) && periods.every(isPeriod))
  );
}

export function spentJson({ spent, ...place }: SpentAt): SpentJson {
  const units = Object.entries(spent).map(
    ([unit, periods]) =>
      [
        unit,
        periods.map(({ after, until, value }) => [after, until, value.toString()] as const),
      ] as const,
  );
  return { ...place, spent: Object.fromEntries(units) };
}

export function spentOf({ spent, ...place }: SpentJson): SpentAt {
  const periodOf = ([after, until, value]: readonly [number, number, string]): SpentPeriod => ({
    after,
    until,
    value: BigInt(value),
  });
  const units = Object.entries(spent).map(
    ([unit, periods]) => [unit, periods.map(periodOf)] as const,
  );
  return { ...place, spent: Object.fromEntries(units) };
}
