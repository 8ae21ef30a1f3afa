import type { Address } from '@solana/kit';
import type { LoadedKeys } from './tables.js';
import type { Outcome } from './vm.js';
import type { WireTransaction } from './wire.js';

export type Commitment = 'processed' | 'confirmed' | 'finalized';
const RANK: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 1, finalized: 2 };

/** Whether a thing at level `has` satisfies a reader that wants `wanted`. */
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

/** Balances of a transaction's accounts at one instant, in the order of its keys. */
export interface Balances {
  readonly lamports: readonly bigint[];
  readonly tokens: readonly TokenBalance[];
}

/** A transaction in a block, successful or charged and failed. */
export interface Landed {
  readonly transaction: WireTransaction;
  readonly outcome: Outcome;
  readonly slot: bigint;
  /** Unix seconds. */
  readonly time: number;
  /** The static keys, then the loaded writable ones, then the loaded read-only ones. */
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
  private readonly all: Landed[] = [];
  private open: Landed[] = [];

  get size(): number {
    return this.bySignature.size;
  }

  add(landed: Landed): void {
    this.bySignature.set(landed.transaction.signature, landed);
    this.messages.add(messageKey(landed.transaction));
    this.all.push(landed);
    this.open.push(landed);
    for (const key of new Set(landed.keys)) {
      const list = this.byAccount.get(key);
      if (list) list.push(landed);
      else this.byAccount.set(key, [landed]);
    }
  }

  get(signature: string): Landed | undefined {
    return this.bySignature.get(signature);
  }

  /** Whether this very message landed before, whatever its signatures. */
  has(transaction: WireTransaction): boolean {
    return this.messages.has(messageKey(transaction));
  }

  /** Oldest first. */
  of(address: Address): readonly Landed[] {
    return this.byAccount.get(address) ?? [];
  }

  /** What landed after `slot`, oldest first. */
  since(slot: bigint): readonly Landed[] {
    const first = this.all.findIndex((landed) => landed.slot > slot);
    return first < 0 ? [] : this.all.slice(first);
  }

  /** Takes out what has been in blocks up to `slot` and was not final until now. */
  finalize(slot: bigint): Landed[] {
    const done = this.open.filter((landed) => landed.slot <= slot);
    if (done.length > 0) this.open = this.open.filter((landed) => landed.slot > slot);
    return done;
  }
}

function messageKey({ message }: WireTransaction): string {
  return String.fromCharCode(...message);
}
