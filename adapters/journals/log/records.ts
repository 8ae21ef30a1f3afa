import { isRecord } from '../../../src/internal/record.js';
import type { Remembered } from '../../../src/journal/spent-keys.js';
import type { SpentAt, SpentPeriod } from '../../../src/journal/spending.js';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import type { Attempt, Owner } from '../../../src/journal/types.js';
import { isEndpoint, isOutboxJob } from '../../../src/outbox/json.js';
import type { OutboxRecord } from '../../../src/outbox/store.js';
import { isProcessId, type ProcessId } from './process-id.js';

/** One thing that happened. FORMAT.md says it for other languages. */
export type FileRecord =
  | { readonly put: Attempt }
  /** The id of the attempt that was released. */
  | { readonly release: string }
  /** Ids that the writer claims, and no longer. */
  | { readonly claim: readonly string[] }
  | { readonly drop: readonly string[] }
  /** Names that the writer has locked, and no longer. */
  | { readonly lock: string }
  | { readonly unlock: string }
  /** How far is counted under a name. */
  | { readonly count: readonly [name: string, number: number] }
  /** A change of a balance, with decimal strings. */
  | { readonly balance: readonly [...Account, change: object] }
  /** Which process the writer is, before it says anything else. */
  | { readonly seat: ProcessId }
  /** A process has ended, with all that it claimed, locked and took. */
  | { readonly gone: string }
  /** So many bytes of the file are on the disk. */
  | { readonly synced: number }
  /** Nothing more counts in this file: another takes its place; or it does not, after all. */
  | { readonly sealed: boolean }
  | OutboxRecord
  | Snapshot;

type Account = readonly [wallet: string, network: string, account: string];

/** What a file that was written anew begins with. */
type Snapshot =
  /** How many attempts were made before the next one in the file. */
  | { readonly made: number }
  /** What attempts took, by place, unit and period. */
  | { readonly spent: SpentJson }
  /** Keys of purchases that are over, each in brief or where it stands in the history. */
  | { readonly keys: KeysJson }
  /** A balance as it stands, with decimal strings. */
  | { readonly book: readonly [...Account, balance: object] }
  /** Bytes of the history. */
  | { readonly history: number };

export interface KeysJson extends Owner {
  /** Each with its attempt, and about when that was over: milliseconds since the epoch. */
  readonly keys: readonly (readonly [key: string, one: Remembered, at: number])[];
}

export interface SpentJson extends Omit<SpentAt, 'spent'> {
  /** The ends of each period, and what left in it. */
  readonly spent: Readonly<Record<string, readonly (readonly [number, number, string])[]>>;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isOwner = (value: unknown): value is Owner =>
  isRecord(value) && isText(value['wallet']) && isText(value['network']);
const isAmount = (value: unknown): boolean => isText(value) && /^[0-9]+$/.test(value);
const isSlot = (value: unknown): boolean => value === undefined || isNumber(value);
const isListOf = (value: unknown, isOne: (one: Readonly<Record<string, unknown>>) => boolean) =>
  Array.isArray(value) && value.every((one) => isRecord(one) && isOne(one));
const isOfAccount = (
  value: unknown,
  isSaid: (said: Readonly<Record<string, unknown>>) => boolean,
) =>
  Array.isArray(value) &&
  value.length === 4 &&
  isTexts(value.slice(0, 3)) &&
  isRecord(value[3]) &&
  isSaid(value[3]);

/** Whether each record says what its one name says that it does. */
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

/** The records of a line, and its writer's id; undefined if it says what is not known here. */
export function readRecords(
  value: unknown,
): { readonly by: string; readonly records: readonly FileRecord[] } | undefined {
  if (!Array.isArray(value)) return undefined;
  const [by, ...records] = value as readonly unknown[];
  return isText(by) && records.every(isFileRecord) ? { by, records } : undefined;
}

function isFileRecord(value: unknown): value is FileRecord {
  if (!isRecord(value)) return false;
  const [[name, said] = [''], ...others] = Object.entries(value);
  const isKnown = Object.prototype.hasOwnProperty.call(checks, name);
  return others.length === 0 && isKnown && checks[name]?.(said) === true;
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
      (one) => isText(one['id']) && isAmount(one['amount']) && isNumber(one['ordinal']),
    ) &&
    isListOf(spent, (one) => isText(one['id']) && isAmount(one['amount']) && isSlot(one['slot']))
  );
}

function isPlaces(value: unknown): boolean {
  const isPlace = (one: unknown) =>
    Array.isArray(one) &&
    isText(one[0]) &&
    (isNumber(one[1]) || isText(one[1])) &&
    isNumber(one[2]);
  return Array.isArray(value) && value.every(isPlace);
}

function isSpent(value: unknown): boolean {
  if (!isOwner(value) || !isRecord(value) || !isRecord(value['spent'])) return false;
  const { host, payTo, mint, spent } = value;
  const isPeriod = (one: unknown) =>
    Array.isArray(one) && isNumber(one[0]) && isNumber(one[1]) && isAmount(one[2]);
  return (
    isTexts([host, payTo, mint]) &&
    Object.values(spent).every((periods) => Array.isArray(periods) && periods.every(isPeriod))
  );
}

export function spentJson({ spent, ...place }: SpentAt): SpentJson {
  const units = Object.entries(spent).map(
    ([unit, periods]) =>
      [unit, periods.map((one) => [one.after, one.until, one.value.toString()] as const)] as const,
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
