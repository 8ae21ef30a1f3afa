import type { Address } from '@solana/kit';
import type { LoadedKeys } from './tables.js';
import type { Outcome } from './vm.js';
import type { WireTransaction } from './wire.js';

export type Commitment = 'processed' | 'confirmed' | 'finalized';
const RANK: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 1, finalized: 2 };

/** Returns true if the level `has` is at least the level `wanted`. */
export function reaches(has: Commitment, wanted: Commitment): boolean {
  return RANK[has] >= RANK[wanted];
}

export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: Address;
  readonly owner: Address;
  readonly programId: Address;
  readonly amount: bigint;
  readonly decimals: number;
}

/** Balances of a transaction's accounts at a moment, in the order of its keys. */
export interface Balances {
  readonly lamports: readonly bigint[];
  readonly tokens: readonly TokenBalance[];
}

/** A transaction in a block: successful, or failed with its fee paid. */
export interface Landed {
  readonly transaction: WireTransaction;
  readonly outcome: Outcome;
  readonly slot: bigint;
  /** Unix seconds. */
  readonly time: number;
  /** Static keys, then loaded writable keys, then loaded read-only keys. */
  readonly keys: readonly Address[];
  readonly writable: readonly Address[];
  readonly loaded: LoadedKeys;
  readonly before: Balances;
  readonly after: Balances;
  readonly memo: string | null;
  level: Commitment;
}

/** Every transaction that landed, by signature and by account. */
export class History {
  private readonly bySignature = new Map<string, Landed>();
  private readonly messages = new Set<string>();
  private readonly byAccount = new Map<string, Landed[]>();
  private readonly landings: Landed[] = [];
  private unfinalized: Landed[] = [];

  get size(): number {
    return this.bySignature.size;
  }

  add(landed: Landed): void {
    this.bySignature.set(landed.transaction.signature, landed);
    this.messages.add(messageKey(landed.transaction));
    this.landings.push(landed);
    this.unfinalized.push(landed);
    for (const key of new Set(landed.keys)) {
      const list = this.byAccount.get(key);
      if (list) list.push(landed);
      else this.byAccount.set(key, [landed]);
    }
  }

  get(signature: string): Landed | undefined {
    return this.bySignature.get(signature);
  }

  /** Returns true if the same message has landed before, with any signatures. */
  has(transaction: WireTransaction): boolean {
    return this.messages.has(messageKey(transaction));
  }

  /** Returns the transactions of an account, oldest first. */
  of(address: Address): readonly Landed[] {
    return this.byAccount.get(address) ?? [];
  }

  /** Returns the transactions that landed after `slot`, oldest first. */
  since(slot: bigint): readonly Landed[] {
    const first = this.landings.findIndex((landed) => landed.slot > slot);
    return first < 0 ? [] : this.landings.slice(first);
  }

  /** Returns the transactions up to `slot` that become finalized now. */
  finalize(slot: bigint): Landed[] {
    const finalized = this.unfinalized.filter((landed) => landed.slot <= slot);
    if (finalized.length > 0)
      this.unfinalized = this.unfinalized.filter((landed) => landed.slot > slot);
    return finalized;
  }
}

function messageKey({ message }: WireTransaction): string {
  return String.fromCharCode(...message);
}
