import { heldOf } from '../../../src/journal/account-balance.js';
import { entryOf, ownerName } from '../../../src/journal/attempt-names.js';
import type { StoreContent } from '../../../src/journal/store-types.js';
import { countedAt } from '../../../src/journal/counting.js';
import {
  isSpentKey,
  leanOf,
  type Remembered,
  type SpentKey,
} from '../../../src/journal/spent-keys.js';
import type { SpentAt } from '../../../src/journal/spending.js';
import { isOpen } from '../../../src/journal/states.js';
import type { Owner } from '../../../src/journal/types.js';
import { withTexts } from '../balance-json.js';
import { spentJson, type FileRecord } from './records.js';
import { accountOf, REWRITING, type State } from './state.js';

/** What a line says: the id of a process, empty if it is no matter which, and records. */
export type Says = readonly [by: string, ...records: FileRecord[]];

/** What a file has to say that is written anew, as of one moment. */
export interface Snapshot extends StoreContent {
  readonly spent: readonly SpentAt[];
  readonly others: readonly Says[];
}

/** A balance that nothing holds is read anew after a while. */
const FORGOTTEN_MS = 10 * 60 * 1000;
/** Of the names that are counted under, so many are kept: more blockhashes are never valid. */
const COUNTS = 512;
/** Long enough that a line costs little, short enough that none takes long. */
const RECORDS_A_LINE = 100;

/** Takes down what is to be written, at once. */
export function snapshotOf(state: State, now: number): Snapshot {
  const { attempts, outbox, balances, claims, locks, counts, seats, taken } = state;
  const { spending } = attempts;
  const content = attempts.content();
  const decided = content.kept.filter(({ attempt }) => !isOpen(attempt));
  const kept = decided.map(({ attempt }) => entryOf(attempt));
  // What attempts took that the file has is not to be in its sums too.
  for (const { attempt, at, cost } of kept) spending.subtract(attempt, at, cost);
  const spent = spending.content();
  for (const { attempt, at, cost } of kept) spending.add(attempt, at, cost);
  const books = [...balances].flatMap(([name, balance]): FileRecord[] => {
    const isOld = balance.known === undefined || balance.known.at < now - FORGOTTEN_MS;
    if (isOld && heldOf(balance) === 0n) return [];
    return [{ book: [...accountOf(name), withTexts(balance)] }];
  });
  return {
    ...content,
    closed: content.closed.map(({ made, attempt }) => ({ made, attempt: leanOf(attempt) })),
    spent,
    others: [
      ...[...seats].map(([by, seat]): Says => [by, { seat }]),
      ['', ...books],
      ['', ...[...counts].slice(-COUNTS).map((count): FileRecord => ({ count }))],
      ['', ...outbox.content()],
      ...[...claims].flatMap(([id, all]) => [...all].map((by): Says => [by, { claim: [id] }])),
      ...[...locks].flatMap(([lock, by]): Says[] => (lock === REWRITING ? [] : [[by, { lock }]])),
      ...[...taken].map(([by, jobs]): Says => [
        by,
        ...[...jobs].flatMap(([id, until]): FileRecord[] =>
          until > now ? [{ taken: [until, id] }] : [],
        ),
      ]),
    ],
  };
}

/**
 * The lines of a file.
 *
 * @param places - Where each closed attempt is in the history.
 * @param history - How long that is.
 */
export function linesOf(
  { made, kept, closed, keys, spent, others }: Snapshot,
  places: readonly number[],
  history: number,
): Says[] {
  const newKeys = closed.flatMap(({ attempt }, index): SpentKey[] => {
    if (!isSpentKey(attempt)) return [];
    const { idempotencyKey: key, wallet, network } = attempt;
    return [{ owner: { wallet, network }, key, one: places[index] ?? 0, at: countedAt(attempt) }];
  });
  const records: FileRecord[] = [
    { history },
    ...spent.map((one) => ({ spent: spentJson(one) })),
    ...keyRecords([...keys, ...newKeys]),
    ...kept.flatMap((one) => [{ made: one.made }, { put: one.attempt }]),
    { made },
  ];
  return [...inLines(records), ...others.flatMap(([by, ...all]) => inLines(all, by))];
}

function inLines(records: readonly FileRecord[], by = ''): Says[] {
  const lines: Says[] = [];
  for (let at = 0; at < records.length; at += RECORDS_A_LINE)
    lines.push([by, ...records.slice(at, at + RECORDS_A_LINE)]);
  return lines;
}

/** Keys in their order, those of an owner that follow each other in one record. */
function keyRecords(all: readonly SpentKey[]): FileRecord[] {
  const records: (Owner & { readonly keys: [string, Remembered, number][] })[] = [];
  for (const { owner, key, one, at } of all) {
    let last = records[records.length - 1];
    const isFull = last === undefined || last.keys.length >= RECORDS_A_LINE;
    if (last === undefined || isFull || ownerName(last) !== ownerName(owner))
      records.push((last = { ...owner, keys: [] }));
    last.keys.push([key, one, at]);
  }
  return records.map((keys) => ({ keys }));
}
