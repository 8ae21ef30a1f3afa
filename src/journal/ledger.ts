/** A balance as it was last known. */
export interface Known {
  readonly amount: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As of which it was read, where that is known. */
  readonly slot?: number | undefined;
}

/** Part of a balance that a payment or swap in flight will take. Ended once, by `spend` or `release`; later calls do nothing. */
export interface Hold {
  readonly amount: bigint;
  /**
   * The tokens left: they are gone from the known balance too.
   *
   * @param slot - Where they did, as the chain shows it.
   */
  spend(slot?: number): void;
  /** The tokens stayed. */
  release(): void;
}

/** What a wallet's accounts hold, less what is promised to payments and swaps in flight. Keys are token account addresses, and the wallet's own for lamports. */
export interface Ledger {
  /** The balance as last seen, if not older than `maxAgeMs`. */
  known(account: string, now: number, maxAgeMs: number): Known | undefined;
  /**
   * Takes down a balance as the chain shows it. Payments in flight are in it or not, nobody can tell: where they explain the difference to
   * what was known, they count as not, because their end takes them off. Where nothing explains it, their end forgets the balance, unless
   * slots tell.
   *
   * @param moved - What is known to have come in, or gone out, since the last time.
   */
  see(account: string, known: Known, moved?: bigint): void;
  forget(account: string): void;
  held(account: string): bigint;
  hold(account: string, amount: bigint): Hold;
}

interface Seen extends Known {
  /** How many holds there were, of any account, when it was read and those that were open may have been in it or not; 0 where they were not. */
  readonly doubtful: number;
}

export function createLedger(): Ledger {
  const balances = new Map<string, Seen>();
  let made = 0;
  const holds = new Map<string, bigint>();
  const change = (account: string, by: bigint) => {
    const held = (holds.get(account) ?? 0n) + by;
    if (held === 0n) holds.delete(account);
    else holds.set(account, held);
  };
  return {
    known(account, now, maxAgeMs) {
      const known = balances.get(account);
      if (known === undefined || now - known.at > maxAgeMs) return undefined;
      const { amount, at, slot } = known;
      return { amount, at, slot };
    },
    see(account, { amount, at, slot }, moved = 0n) {
      const before = balances.get(account);
      const held = holds.get(account) ?? 0n;
      const expected = before === undefined ? undefined : before.amount + moved;
      const isExplained = expected !== undefined && amount <= expected && amount >= expected - held;
      if (before !== undefined && isExplained) balances.set(account, { ...before, amount: expected, at });
      else balances.set(account, { amount, at, slot, doubtful: held > 0n ? made : 0 });
    },
    forget: (account) => void balances.delete(account),
    held: (account) => holds.get(account) ?? 0n,
    hold(account, amount) {
      const ordinal = made++;
      let open = true;
      change(account, amount);
      const end = () => {
        const wasOpen = open;
        open = false;
        if (wasOpen) change(account, -amount);
        return wasOpen;
      };
      const spend = (slot: number | undefined) => {
        const known = balances.get(account);
        if (!end() || known === undefined) return;
        const left = { ...known, amount: known.amount > amount ? known.amount - amount : 0n };
        if (ordinal >= known.doubtful) balances.set(account, left);
        else if (slot === undefined || known.slot === undefined) balances.delete(account);
        else if (slot > known.slot) balances.set(account, left);
      };
      return { amount, spend, release: () => void end() };
    },
  };
}
