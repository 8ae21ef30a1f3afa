/** The last known balance of an account. */
export interface Known {
  readonly amount: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The slot as of which the balance was read, if it is known. */
  readonly slot?: number | undefined;
}

interface Seen extends Known {
  /**
   * Number of holds that had been made on the account when it was read. The reading may already
   * lack the amounts of these holds. 0 if it lacks none of them.
   */
  readonly doubtful: number;
}

/** An amount of the account that an attempt will take. */
interface Held {
  readonly id: string;
  readonly amount: bigint;
  /** Number of holds that were made on the account before this hold. */
  readonly ordinal: number;
}

/** An amount of the account that an attempt took. */
interface Spent {
  readonly id: string;
  readonly amount: bigint;
  /** The slot in which the chain shows the transaction; undefined if the chain has not decided. */
  readonly slot?: number | undefined;
}

/** The amount of an account that the chain showed, and the slot as of which it did. */
export interface Reading {
  readonly amount: bigint;
  readonly slot: number;
}

/**
 * The balance of one account, and the holds of attempts in flight. Plain data; each change makes a
 * new object.
 */
export interface AccountBalance {
  readonly known?: Seen | undefined;
  /** The last reading from the chain; amounts that left since then are not subtracted. */
  readonly reading?: Reading | undefined;
  /** Number of holds that were ever made on the account. */
  readonly made: number;
  readonly holds: readonly Held[];
  /** The amounts that left last, oldest first. */
  readonly spent: readonly Spent[];
}

// So many amounts do not leave while a balance is read.
const REMEMBERED = 32;

/** Milliseconds for which a known balance wins over a reading of an earlier slot. */
const LATE_MS = 30_000;

export const emptyBalance: AccountBalance = { made: 0, holds: [], spent: [] };

/** Sums of lists of holds: a list never changes, and the list of a busy account is long. */
const sums = new WeakMap<readonly Held[], bigint>();

export function heldOf({ holds }: AccountBalance): bigint {
  return sums.get(holds) ?? noteSum(holds, sumOf(holds));
}

function sumOf(holds: readonly Held[]): bigint {
  return holds.reduce((sum, { amount }) => sum + amount, 0n);
}

function noteSum(holds: readonly Held[], sum: bigint): bigint {
  sums.set(holds, sum);
  return sum;
}

/** Time range of readings that still count as true. Milliseconds since the epoch. */
export interface Fresh {
  readonly from: number;
  readonly to: number;
}

/** Returns the balance less all holds; undefined if it was not read within `fresh`. */
export function availableIn(balance: AccountBalance, { from, to }: Fresh): bigint | undefined {
  const { known } = balance;
  if (known === undefined || known.at < from || known.at > to) return undefined;
  const free = known.amount - heldOf(balance);
  return free > 0n ? free : 0n;
}

/**
 * Records a balance as the chain shows it. A held amount may have left before the reading, or not.
 * If holds explain the difference to the expected amount, none counts as left, because the end of
 * each hold subtracts it. If they do not, the end of a hold forgets the balance, unless slots tell.
 *
 * @param moved - Amount that is known to have come in since the last reading; negative if it left.
 */
export function see(
  before: AccountBalance,
  { amount, at, slot }: Known,
  moved = 0n,
): AccountBalance {
  const isNewest = slot !== undefined && slot >= (before.reading?.slot ?? 0);
  const balance = isNewest ? { ...before, reading: { amount, slot } } : before;
  const { known } = balance;
  const held = heldOf(balance);
  if (known !== undefined) {
    // A reading that comes late lacks what came in or left since its slot. A balance that is no
    // longer recent is replaced all the same, because a node may have given a wrong slot.
    const isLate = slot !== undefined && known.slot !== undefined && slot < known.slot;
    if (isLate && Math.abs(at - known.at) <= LATE_MS) return balance;
    const expected = known.amount + moved;
    if (amount <= expected && amount >= expected - held) {
      // The end of a doubtful hold asks for the slot of the first reading. Holds are in order.
      const isDoubtful = (balance.holds[0]?.ordinal ?? Infinity) < known.doubtful;
      const asOf = isDoubtful ? known.slot : (slot ?? known.slot);
      return { ...balance, known: { ...known, amount: expected, at, slot: asOf } };
    }
  }
  // A reading may be older than amounts that are known to have left.
  const missed =
    slot === undefined
      ? 0n
      : balance.spent.reduce(
          (sum, spent) =>
            spent.slot !== undefined && spent.slot > slot ? sum + spent.amount : sum,
          0n,
        );
  const left = amount > missed ? amount - missed : 0n;
  return { ...balance, known: { amount: left, at, slot, doubtful: held > 0n ? balance.made : 0 } };
}

export function forget(balance: AccountBalance): AccountBalance {
  const { known, ...rest } = balance;
  return known === undefined ? balance : rest;
}

/**
 * Holds an amount for an attempt. Does nothing if the attempt has its hold, or if the chain shows
 * that it spent the amount lately.
 */
export function hold(balance: AccountBalance, id: string, amount: bigint): AccountBalance {
  const spent = balance.spent.find((entry) => entry.id === id);
  // Without a slot, the hold ended only because its client closed. The amount may not have left, so
  // the balance is unknown again.
  if (spent !== undefined && spent.slot === undefined)
    return hold(
      forget({ ...balance, spent: balance.spent.filter((entry) => entry !== spent) }),
      id,
      amount,
    );
  if (spent !== undefined || isHeld(balance, id)) return balance;
  const holds = [...balance.holds, { id, amount, ordinal: balance.made }];
  noteSum(holds, heldOf(balance) + amount);
  return { ...balance, made: balance.made + 1, holds };
}

/** Ends a hold if the tokens stayed. */
export function release(balance: AccountBalance, id: string): AccountBalance {
  return isHeld(balance, id) ? { ...balance, holds: holdsWithout(balance, id) } : balance;
}

/**
 * Ends a hold if the tokens left, and subtracts them from the known balance.
 *
 * @param slot - The slot in which they left, as the chain shows it.
 */
export function spend(balance: AccountBalance, id: string, slot?: number): AccountBalance {
  const held = balance.holds.find((entry) => entry.id === id);
  if (held === undefined) return balance;
  const { amount, ordinal } = held;
  const after = {
    ...balance,
    holds: holdsWithout(balance, id),
    spent: [...balance.spent, { id, amount, slot }].slice(-REMEMBERED),
  };
  const { known } = after;
  if (known === undefined) return after;
  const reduced = {
    ...after,
    known: { ...known, amount: known.amount > amount ? known.amount - amount : 0n },
  };
  // The balance was read before the tokens could leave.
  if (ordinal >= known.doubtful) return reduced;
  if (slot === undefined || known.slot === undefined) return forget(after);
  return slot > known.slot ? reduced : after;
}

function isHeld({ holds }: AccountBalance, id: string): boolean {
  return holds.some((held) => held.id === id);
}

function holdsWithout(balance: AccountBalance, id: string): readonly Held[] {
  const holds = balance.holds.filter((held) => held.id !== id);
  noteSum(holds, heldOf(balance) - sumOf(balance.holds.filter((held) => held.id === id)));
  return holds;
}

export type BalanceChange =
  | { readonly see: Known; readonly moved: bigint }
  | { readonly forget: true }
  | { readonly hold: string; readonly amount: bigint }
  | { readonly spend: string; readonly slot?: number | undefined }
  | { readonly release: string };

export function changed(balance: AccountBalance, change: BalanceChange): AccountBalance {
  if ('see' in change) return see(balance, change.see, change.moved);
  if ('forget' in change) return forget(balance);
  if ('hold' in change) return hold(balance, change.hold, change.amount);
  if ('spend' in change) return spend(balance, change.spend, change.slot);
  return release(balance, change.release);
}

/** An amount that is held for an attempt. */
export interface Taken {
  /**
   * The account's last reading from the chain, before the attempt takes from it; undefined if it
   * was never read.
   */
  readonly before: Reading | undefined;
}

/** A change of a balance, if there is any, and the result of the step. */
export interface BalanceStep<T> {
  readonly change?: BalanceChange | undefined;
  readonly result: T;
}

/**
 * Decides whether an attempt may take an amount; there is no result if not. Holds the amount if it
 * is free; otherwise the attempt has its hold already.
 */
export function taking(
  balance: AccountBalance,
  id: string,
  amount: bigint,
  fresh: Fresh,
): BalanceStep<Taken | undefined> {
  const isSpent = balance.spent.some((entry) => entry.id === id);
  const isFree = !isSpent && (availableIn(balance, fresh) ?? 0n) >= amount;
  const result = { before: balance.reading };
  if (isFree) return { change: { hold: id, amount }, result };
  return { result: isHeld(balance, id) ? result : undefined };
}
