import { heldOf } from '../../../src/journal/account-balance.js';
import { entryOf, ownerName } from '../../../src/journal/attempt-names.js';
import type { StoreContent } from '../../../src/journal/store-types.js';
import { leanOf, type Remembered, type SpentKey } from '../../../src/journal/spent-keys.js';
import type { SpentAt } from '../../../src/journal/spending.js';
import { isOpen } from '../../../src/journal/states.js';
import type { Owner } from '../../../src/journal/types.js';
import { withTexts } from '../balance-json.js';
import { spentJson, type FileRecord } from './records.js';
import { accountOf, REWRITING, type State } from './state.js';

/** The content of a line: the id of the writer (empty if it does not matter) and records. */
export type LogLine = readonly [by: string, ...records: FileRecord[]];

/** The content of a rewritten file, as of one moment. */
export interface Snapshot extends StoreContent {
  readonly spent: readonly SpentAt[];
  readonly others: readonly LogLine[];
}

/** Age at which a balance without holds is left out: by then it must be read again anyway. */
const FORGOTTEN_MS = 10 * 60 * 1000;
/** Counters that are kept, the newest: more blockhashes are never valid at a time. */
const COUNTS = 512;
/** Enough records that a line costs little, and few enough that no line takes long. */
const RECORDS_A_LINE = 100;

/** Takes the snapshot of a state, synchronously. */
export function snapshotOf(state: State, now: number): Snapshot {
  const { attempts, outbox, balances, claims, locks, counts, seats, taken } = state;
  const { spending } = attempts;
  const content = attempts.content();
  const decided = content.kept.filter(({ attempt }) => !isOpen(attempt));
  const kept = decided.map(({ attempt }) => entryOf(attempt));
  // The file keeps these attempts, so its sums must not count them as well.
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
      ...[...seats].map(([by, seat]): LogLine => [by, { seat }]),
      ['', ...books],
      ['', ...[...counts].slice(-COUNTS).map((count): FileRecord => ({ count }))],
      ['', ...outbox.content()],
      ...[...claims].flatMap(([id, all]) => [...all].map((by): LogLine => [by, { claim: [id] }])),
      ...[...locks].flatMap(([lock, by]): LogLine[] =>
        lock === REWRITING ? [] : [[by, { lock }]],
      ),
      ...[...taken].map(([by, jobs]): LogLine => [
        by,
        ...[...jobs].flatMap(([id, until]): FileRecord[] =>
          until > now ? [{ taken: [until, id] }] : [],
        ),
      ]),
    ],
  };
}

/**
 * Returns the lines of a rewritten file.
 *
 * @param newKeys - The keys of the closed attempts, if these are in a history.
 * @param history - Bytes of the history.
 */
export function linesOf(
  { made, kept, keys, spent, others }: Snapshot,
  newKeys: readonly SpentKey[],
  history: number,
): LogLine[] {
  const records: FileRecord[] = [
    { history },
    ...spent.map((sums) => ({ spent: spentJson(sums) })),
    ...keyRecords([...keys, ...newKeys]),
    ...kept.flatMap(({ made: before, attempt }) => [{ made: before }, { put: attempt }]),
    { made },
  ];
  return [...inLines(records), ...others.flatMap(([by, ...all]) => inLines(all, by))];
}

function inLines(records: readonly FileRecord[], by = ''): LogLine[] {
  const lines: LogLine[] = [];
  for (let at = 0; at < records.length; at += RECORDS_A_LINE)
    lines.push([by, ...records.slice(at, at + RECORDS_A_LINE)]);
  return lines;
}

/** Returns records of keys in their order. Successive keys of an owner share a record. */
function keyRecords(spentKeys: readonly SpentKey[]): FileRecord[] {
  const records: (Owner & { readonly keys: [string, Remembered, number][] })[] = [];
  for (const { owner, key, one, at } of spentKeys) {
    let last = records[records.length - 1];
    const isFull = last === undefined || last.keys.length >= RECORDS_A_LINE;
    if (last === undefined || isFull || ownerName(last) !== ownerName(owner))
      records.push((last = { ...owner, keys: [] }));
    last.keys.push([key, one, at]);
  }
  return records.map((keys) => ({ keys }));
}
