/** A balance as it was last known. */
export interface Known {
  readonly amount: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Part of a balance that a payment or swap in flight will take. Ended once, by `spend` or `release`; later calls do nothing. */
export interface Hold {
  readonly amount: bigint;
  /** The tokens left: they are gone from the known balance too. */
  spend(): void;
  /** The tokens stayed. */
  release(): void;
}

/** What a wallet's accounts hold, less what is promised to payments and swaps in flight. Keys are token account addresses, and the wallet's own for lamports. */
export interface Ledger {
  /** The balance as last seen, if not older than `maxAgeMs`. */
  known(account: string, now: number, maxAgeMs: number): Known | undefined;
  /**
   * Takes down a balance as the chain shows it. Payments in flight are in it or not, nobody can tell: where they explain the difference to
   * what was known, they count as not, because their end takes them off.
   *
   * @param moved - What is known to have come in, or gone out, since the last time.
   */
  see(account: string, known: Known, moved?: bigint): void;
  forget(account: string): void;
  held(account: string): bigint;
  hold(account: string, amount: bigint): Hold;
}

export function createLedger(): Ledger {
  const balances = new Map<string, Known>();
  const holds = new Map<string, bigint>();
  const change = (account: string, by: bigint) => {
    const held = (holds.get(account) ?? 0n) + by;
    if (held === 0n) holds.delete(account);
    else holds.set(account, held);
  };
  return {
    known(account, now, maxAgeMs) {
      const known = balances.get(account);
      return known !== undefined && now - known.at <= maxAgeMs ? known : undefined;
    },
    see(account, { amount, at }, moved = 0n) {
      const before = balances.get(account);
      const expected = before === undefined ? amount : before.amount + moved;
      const isExplained = amount <= expected && amount >= expected - (holds.get(account) ?? 0n);
      balances.set(account, { amount: isExplained ? expected : amount, at });
    },
    forget: (account) => void balances.delete(account),
    held: (account) => holds.get(account) ?? 0n,
    hold(account, amount) {
      let open = true;
      change(account, amount);
      const end = (spent: boolean) => {
        if (!open) return;
        open = false;
        change(account, -amount);
        const known = balances.get(account);
        if (spent && known !== undefined)
          balances.set(account, { amount: known.amount > amount ? known.amount - amount : 0n, at: known.at });
      };
      return { amount, spend: () => end(true), release: () => end(false) };
    },
  };
}
