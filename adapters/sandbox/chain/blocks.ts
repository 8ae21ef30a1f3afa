import { randomBytes } from 'node:crypto';
import { toBase58 } from './bytes.js';

/** A transaction lands in a block at most this many after that of its blockhash. */
export const MAX_AGE = 150n;
/** Slots until a block is final. */
export const FINALITY = 32n;
export const SLOTS_PER_EPOCH = 432_000n;
// Mainnet skipped slots: a height is never a slot's number, and code that confuses the two should
// fail here.
const SKIPPED_SLOTS = 21_600_000n;
const FIRST_SLOT = 440_208_000n;
const KEPT = 512;

export interface Block {
  readonly slot: bigint;
  readonly height: bigint;
  readonly hash: string;
}

/** The chain of empty blocks: one a slot, the newest 512. */
export class Blocks {
  private blocks: Block[] = [];
  private readonly byHash = new Map<string, Block>();

  constructor() {
    this.advance(KEPT);
  }

  get tip(): Block {
    return this.at(0n);
  }

  /** The block that is `depth` slots behind the tip. */
  at(depth: bigint): Block {
    const block = this.blocks[this.blocks.length - 1 - Number(depth)];
    if (!block)
      throw new Error(
        `The sandbox keeps ${KEPT} blocks; block ${depth} behind the newest is not among them.`,
      );
    return block;
  }

  advance(count = 1): void {
    let slot =
      (this.blocks[this.blocks.length - 1]?.slot ?? FIRST_SLOT) + BigInt(Math.max(0, count - KEPT));
    for (let made = 0; made < Math.min(count, KEPT); made += 1) {
      slot += 1n;
      const block = { slot, height: slot - SKIPPED_SLOTS, hash: toBase58(randomBytes(32)) };
      this.blocks.push(block);
      this.byHash.set(block.hash, block);
    }
    for (const old of this.blocks.slice(0, -KEPT)) this.byHash.delete(old.hash);
    this.blocks = this.blocks.slice(-KEPT);
  }

  /** Whether the block after one of them may have a transaction with it. */
  isValid(hash: string, { height } = this.tip): boolean {
    const block = this.byHash.get(hash);
    return block !== undefined && block.height <= height && height - block.height <= MAX_AGE;
  }

  /** Slot hashes as the sysvar has them: newest first, without the slot that is being made. */
  slotHashes(): { slot: bigint; hash: string }[] {
    return this.blocks
      .slice(0, -1)
      .reverse()
      .map(({ slot, hash }) => ({ slot, hash }));
  }
}
