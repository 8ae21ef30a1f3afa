/** A balance as it was last known. */
export interface Known {
  readonly amount: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As of which it was read, if that is known. */
  readonly slot?: number | undefined;
}

interface Seen extends Known {
  /**
   * How many holds had been made on the account when it was read and those that were open may have
   * been in it or not; 0 if they were not.
   */
  readonly doubtful: number;
}

/** What an attempt will take of the account. */
interface Held {
  readonly id: string;
  readonly amount: bigint;
  /** How many holds were made on the account before it. */
  readonly ordinal: number;
}

/** What an attempt took. */
interface Spent {
  readonly id: string;
  readonly amount: bigint;
  /** Where the chain shows it. */
  readonly slot?: number | undefined;
}

/** What the chain showed of an account, and the slot as of which it did. */
export interface Reading {
  readonly amount: bigint;
  readonly slot: number;
}

/**
 * One account: what it was last seen to hold, and what is promised to payments in flight. Plain
 * data; each change makes a new one.
 */
export interface AccountBalance {
  readonly known?: Seen | undefined;
  /** What was read last, whatever is known to have left since. */
  readonly reading?: Reading | undefined;
  readonly made: number;
  readonly holds: readonly Held[];
  /** What left last, oldest first. */
  readonly spent: readonly Spent[];
}

// More than leave while one balance is read.
const REMEMBERED = 32;

export const emptyBalance: AccountBalance = { made: 0, holds: [], spent: [] };

/** What lists of holds add up to: a list never changes, and that of a busy account is long. */
const sums = new WeakMap<readonly Held[], bigint>();

export function heldOf({ holds }: AccountBalance): bigint {
  return sums.get(holds) ?? noteSum(holds, added(holds));
}

function added(holds: readonly Held[]): bigint {
  return holds.reduce((sum, { amount }) => sum + amount, 0n);
}

function noteSum(holds: readonly Held[], sum: bigint): bigint {
  sums.set(holds, sum);
  return sum;
}

/** Which balances are taken for true: those seen from then on, and until then. Ms since the epoch. */
export interface Fresh {
  readonly from: number;
  readonly to: number;
}

/** What can be spent: the balance less what is promised, undefined if it was not seen lately. */
export function availableIn(balance: AccountBalance, { from, to }: Fresh): bigint | undefined {
  const { known } = balance;
  if (known === undefined || known.at < from || known.at > to) return undefined;
  const free = known.amount - heldOf(balance);
  return free > 0n ? free : 0n;
}

/**
 * Takes down a balance as the chain shows it. Payments in flight are in it or not, which cannot be
 * told: if they explain the difference to what was known, they count as not, because their end
 * takes them off. If nothing explains it, their end forgets the balance, unless slots tell.
 *
 * @param moved - What is known to have come in, or gone out, since the last time.
 */
export function see(
  before: AccountBalance,
  { amount, at, slot }: Known,
  moved = 0n,
): AccountBalance {
  const isNews = slot !== undefined && slot >= (before.reading?.slot ?? 0);
  const balance = isNews ? { ...before, reading: { amount, slot } } : before;
  const { known } = balance;
  const held = heldOf(balance);
  const expected = known === undefined ? undefined : known.amount + moved;
  if (
    known !== undefined &&
    expected !== undefined &&
    amount <= expected &&
    amount >= expected - held
  ) {
    return { ...balance, known: { ...known, amount: expected, at } };
  }
  // It may have been read before a payment that is known to have left.
  const missed =
    slot === undefined
      ? 0n
      : balance.spent.reduce(
          (sum, one) => (one.slot !== undefined && one.slot > slot ? sum + one.amount : sum),
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
 * Promises an amount to an attempt; nothing if it has its promise, or the chain shows that it
 * lately spent it.
 */
export function hold(balance: AccountBalance, id: string, amount: bigint): AccountBalance {
  const gone = balance.spent.find((one) => one.id === id);
  // Spent only because its client closed: whether it has left is open again, and so is what there
  // is.
  if (gone !== undefined && gone.slot === undefined)
    return hold(
      forget({ ...balance, spent: balance.spent.filter((one) => one !== gone) }),
      id,
      amount,
    );
  if (gone !== undefined || isHeld(balance, id)) return balance;
  const holds = [...balance.holds, { id, amount, ordinal: balance.made }];
  noteSum(holds, heldOf(balance) + amount);
  return { ...balance, made: balance.made + 1, holds };
}

/** The tokens stayed. */
export function release(balance: AccountBalance, id: string): AccountBalance {
  return isHeld(balance, id) ? { ...balance, holds: without(balance, id) } : balance;
}

/**
 * The tokens left: they are gone from the known balance too.
 *
 * @param slot - Where they did, as the chain shows it.
 */
export function spend(balance: AccountBalance, id: string, slot?: number): AccountBalance {
  const held = balance.holds.find((one) => one.id === id);
  if (held === undefined) return balance;
  const { amount, ordinal } = held;
  const after = {
    ...balance,
    holds: without(balance, id),
    spent: [...balance.spent, { id, amount, slot }].slice(-REMEMBERED),
  };
  const { known } = after;
  if (known === undefined) return after;
  const left = {
    ...after,
    known: { ...known, amount: known.amount > amount ? known.amount - amount : 0n },
  };
  if (ordinal >= known.doubtful) return left;
  if (slot === undefined || known.slot === undefined) return forget(after);
  return slot > known.slot ? left : after;
}

/** Whether an attempt lately spent what it was promised. */
function isSpent({ spent }: AccountBalance, id: string): boolean {
  return spent.some((one) => one.id === id);
}

/** Whether an attempt has its promise. */
function isHeld({ holds }: AccountBalance, id: string): boolean {
  return holds.some((one) => one.id === id);
}

function without(balance: AccountBalance, id: string): readonly Held[] {
  const holds = balance.holds.filter((one) => one.id !== id);
  noteSum(holds, heldOf(balance) - added(balance.holds.filter((one) => one.id === id)));
  return holds;
}

/** What happens to a balance. */
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

/** What taking an amount for an attempt comes to; `isNew` if it is to be held for it. */
export function taking(
  balance: AccountBalance,
  id: string,
  amount: bigint,
  fresh: Fresh,
): { readonly before: Reading | undefined; readonly isNew: boolean } | undefined {
  const isThere = !isSpent(balance, id) && (availableIn(balance, fresh) ?? 0n) >= amount;
  const before = balance.reading;
  if (isThere) return { before, isNew: true };
  return isHeld(balance, id) ? { before, isNew: false } : undefined;
}
