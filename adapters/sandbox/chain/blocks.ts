import { randomBytes } from 'node:crypto';
import { toBase58 } from './bytes.js';

/** Blocks after the block of a blockhash in which a transaction with it may land. */
export const MAX_AGE = 150n;
/** Slots until a block is finalized. */
export const FINALITY = 32n;
export const SLOTS_PER_EPOCH = 432_000n;
// Mainnet has skipped slots, so a block's height differs from its slot. Code that confuses the two
// must fail here too.
const SKIPPED_SLOTS = 21_600_000n;
const FIRST_SLOT = 440_208_000n;
const KEPT = 512;

export interface Block {
  readonly slot: bigint;
  readonly height: bigint;
  readonly hash: string;
}

/** The newest 512 blocks, with a block in each slot. */
export class Blocks {
  private blocks: Block[] = [];
  private readonly byHash = new Map<string, Block>();

  constructor() {
    this.advance(KEPT);
  }

  get tip(): Block {
    return this.at(0n);
  }

  /** Returns the block that is `depth` slots behind the tip. */
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

  /** Returns true if a transaction with this blockhash may land after the given block. */
  isValid(hash: string, { height } = this.tip): boolean {
    const block = this.byHash.get(hash);
    return block !== undefined && block.height <= height && height - block.height <= MAX_AGE;
  }

  /** Returns the slot hashes as in the sysvar: newest first, without the current slot. */
  slotHashes(): { slot: bigint; hash: string }[] {
    return this.blocks
      .slice(0, -1)
      .reverse()
      .map(({ slot, hash }) => ({ slot, hash }));
  }
}
