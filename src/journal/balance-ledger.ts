import {
  availableIn,
  changed,
  emptyBalance,
  heldOf,
  taking,
  type AccountBalance,
  type BalanceChange,
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

/** What is to happen to a balance, if anything, and what it leads to. */
export interface BalanceStep<T> {
  readonly change?: BalanceChange | undefined;
  readonly result: T;
}

/**
 * Where balances are kept. A step is taken at the balance as it stands, and no other call changes
 * that meanwhile.
 */
export interface BalanceStore {
  read(account: string): Promise<AccountBalance>;
  step<T>(account: string, decide: (balance: AccountBalance) => BalanceStep<T>): Promise<T>;
}

/** A ledger over balances, wherever they are kept. */
export function ledgerOver({ read, step }: BalanceStore): Ledger {
  const make = (account: string, change: BalanceChange) =>
    step(account, () => ({ change, result: undefined }));
  return {
    available: async (account, fresh) => availableIn(await read(account), fresh),
    held: async (account) => heldOf(await read(account)),
    see: (account, known, moved = 0n) => make(account, { see: known, moved }),
    forget: (account) => make(account, { forget: true }),
    take: (account, id, amount, fresh) =>
      step(account, (balance) => {
        const taken = taking(balance, id, amount, fresh);
        return {
          change: taken?.isNew === true ? { hold: id, amount } : undefined,
          result: taken && { before: taken.before },
        };
      }),
    hold: (account, id, amount) => make(account, { hold: id, amount }),
    spend: (account, id, slot) => make(account, { spend: id, slot }),
    release: (account, id) => make(account, { release: id }),
  };
}

/** A ledger in memory: no await between a read and its write makes each change one step. */
export function createLedger(): Ledger {
  const balances = new Map<string, AccountBalance>();
  const balanceOf = (account: string) => balances.get(account) ?? emptyBalance;
  return ledgerOver({
    read: (account) => Promise.resolve(balanceOf(account)),
    step: (account, decide) => {
      const balance = balanceOf(account);
      const { change, result } = decide(balance);
      if (change !== undefined) balances.set(account, changed(balance, change));
      return Promise.resolve(result);
    },
  });
}
