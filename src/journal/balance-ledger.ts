import {
  availableIn,
  emptyBalance,
  forget,
  heldOf,
  hold,
  isHeld,
  isSpent,
  release,
  see,
  spend,
  type AccountBalance,
  type Fresh,
  type Known,
  type Reading,
} from './account-balance.js';

/**
 * What a wallet's accounts hold, less what is promised to payments and swaps in flight. Accounts
 * are token account addresses, and the wallet's own for lamports.
 */
export interface Ledger {
  /**
   * What can be spent of an account; undefined if its balance was not seen lately and has to be
   * read.
   */
  available(account: string, fresh: Fresh): Promise<bigint | undefined>;
  /** What is promised to attempts in flight. */
  held(account: string): Promise<bigint>;
  /**
   * Takes down a balance as the chain shows it; `moved` is what is known to have come in, or gone
   * out, since the last time.
   */
  see(account: string, known: Known, moved?: bigint): Promise<void>;
  forget(account: string): Promise<void>;
  /**
   * Holds an amount for an attempt if it is there, as one step; undefined unless the attempt has
   * its hold.
   */
  take(account: string, id: string, amount: bigint, fresh: Fresh): Promise<Taken | undefined>;
  /**
   * Holds an amount for an attempt that has signed it already; nothing if it is held, or the
   * chain shows that it was spent.
   */
  hold(account: string, id: string, amount: bigint): Promise<void>;
  /** Ends a hold: the tokens left, in `slot` if the chain shows it. Without a hold, nothing. */
  spend(account: string, id: string, slot?: number): Promise<void>;
  /** Ends a hold: the tokens stayed. Without a hold, nothing. */
  release(account: string, id: string): Promise<void>;
}

/** An amount that is held for an attempt. */
export interface Taken {
  /**
   * What the chain showed of the account last, before the attempt takes from it; undefined if it
   * was not read.
   */
  readonly before: Reading | undefined;
}

/**
 * Where balances are kept. A change is made to the balance as it stands, and by no other call
 * meanwhile.
 */
export interface BalanceStore {
  read(account: string): Promise<AccountBalance>;
  change<T>(
    account: string,
    change: (balance: AccountBalance) => { readonly balance: AccountBalance; readonly result: T },
  ): Promise<T>;
}

/** A ledger over balances, wherever they are kept. */
export function ledgerOver({ read, change }: BalanceStore): Ledger {
  const to = (account: string, next: (balance: AccountBalance) => AccountBalance) =>
    change(account, (balance) => ({ balance: next(balance), result: undefined }));
  return {
    available: async (account, fresh) => availableIn(await read(account), fresh),
    held: async (account) => heldOf(await read(account)),
    see: (account, known, moved) => to(account, (balance) => see(balance, known, moved)),
    forget: (account) => to(account, forget),
    take: (account, id, amount, fresh) =>
      change(account, (balance) => {
        const isThere = !isSpent(balance, id) && (availableIn(balance, fresh) ?? 0n) >= amount;
        const taken = { before: balance.reading };
        if (isThere) return { balance: hold(balance, id, amount), result: taken };
        return { balance, result: isHeld(balance, id) ? taken : undefined };
      }),
    hold: (account, id, amount) => to(account, (balance) => hold(balance, id, amount)),
    spend: (account, id, slot) => to(account, (balance) => spend(balance, id, slot)),
    release: (account, id) => to(account, (balance) => release(balance, id)),
  };
}

/** A ledger in memory: no await between a read and its write makes each change one step. */
export function createLedger(): Ledger {
  const balances = new Map<string, AccountBalance>();
  const balanceOf = (account: string) => balances.get(account) ?? emptyBalance;
  return ledgerOver({
    read: (account) => Promise.resolve(balanceOf(account)),
    change: (account, change) => {
      const { balance, result } = change(balanceOf(account));
      balances.set(account, balance);
      return Promise.resolve(result);
    },
  });
}
