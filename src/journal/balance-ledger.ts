import {
  availableIn,
  changed,
  emptyBalance,
  heldOf,
  taking,
  type AccountBalance,
  type BalanceChange,
  type BalanceStep,
  type Fresh,
  type Known,
  type Taken,
} from './account-balance.js';

/**
 * Balances of a wallet's token accounts, less the holds of payments in flight. No attempt holds SOL.
 */
export interface Ledger {
  /**
   * Resolves to the amount that can be spent; undefined if the balance was not read within `fresh`
   * and has to be read.
   */
  available(account: string, fresh: Fresh): Promise<bigint | undefined>;
  /** Resolves to the sum of holds of attempts in flight. */
  held(account: string): Promise<bigint>;
  /**
   * Records a balance as the chain shows it; `moved` is the amount that is known to have come in
   * since the last reading, negative if it left.
   */
  see(account: string, known: Known, moved?: bigint): Promise<void>;
  forget(account: string): Promise<void>;
  /**
   * Holds an amount for an attempt if the amount is free, as one step; undefined if the attempt has
   * no hold then.
   */
  take(account: string, id: string, amount: bigint, fresh: Fresh): Promise<Taken | undefined>;
  /**
   * Holds an amount for an attempt that has signed already. Does nothing if the amount is held, if
   * the chain shows that it was spent, or if the attempt has ended meanwhile.
   */
  hold(account: string, id: string, amount: bigint): Promise<void>;
  /** Ends a hold, if there is one: the tokens left, in `slot` if the chain shows it. */
  spend(account: string, id: string, slot?: number): Promise<void>;
  /** Ends a hold, if there is one: the tokens stayed. */
  release(account: string, id: string): Promise<void>;
}

/**
 * Keeps balances. A step decides on the current balance, and no other call changes the balance
 * meanwhile.
 */
export interface BalanceStore {
  read(account: string): Promise<AccountBalance>;
  /**
   * @param of - Id of an attempt. If it has ended, or `isOnRecord` and the store no longer has it,
   *   the step decides on an empty balance, and changes nothing: no call would undo the change
   *   after that.
   */
  step<T>(
    account: string,
    decide: (balance: AccountBalance) => BalanceStep<T>,
    of?: string,
    isOnRecord?: boolean,
  ): Promise<T>;
}

export function ledgerOver({ read, step }: BalanceStore): Ledger {
  const apply = (account: string, change: BalanceChange, of?: string) =>
    step(account, () => ({ change, result: undefined }), of);
  return {
    available: async (account, fresh) => availableIn(await read(account), fresh),
    held: async (account) => heldOf(await read(account)),
    see: (account, known, moved = 0n) => apply(account, { see: known, moved }),
    forget: (account) => apply(account, { forget: true }),
    take: (account, id, amount, fresh) =>
      step(account, (balance) => taking(balance, id, amount, fresh), id, true),
    hold: (account, id, amount) => apply(account, { hold: id, amount }, id),
    spend: (account, id, slot) => apply(account, { spend: id, slot }),
    release: (account, id) => apply(account, { release: id }),
  };
}

/** Creates a ledger in memory: each change is one step, as no await parts a read from its write. */
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
