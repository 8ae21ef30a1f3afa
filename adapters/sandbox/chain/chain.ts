import { randomBytes } from 'node:crypto';
import { address as toAddress } from '@solana/kit';
import type { Address } from '@solana/kit';
import type { Chain, ChainAccount, SandboxMint } from '../types.js';
import { readBalances } from './balances.js';
import { Blocks, FINALITY, MAX_AGE, SLOTS_PER_EPOCH } from './blocks.js';
import type { Block } from './blocks.js';
import { addressOf } from './bytes.js';
import { airdropTransaction, FAUCET } from './faucet.js';
import { fundToken } from './fund.js';
import { History } from './history.js';
import type { Commitment, Landed } from './history.js';
import { memosOf } from './memo.js';
import { seed } from './seed.js';
import { allKeys, loadKeys, lookupTableData, LOOKUP_TABLE_PROGRAM } from './tables.js';
import { Timers } from './timers.js';
import { associatedTokenAccount, readToken } from './token.js';
import { Vm } from './vm.js';
import type { Simulated } from './vm.js';
import { isStaticWritable } from './wire.js';
import type { WireTransaction } from './wire.js';

export interface ChainOptions {
  /**
   * Milliseconds for each slot; 0 stops time, so that only `warp` moves it. Default 100 (mainnet:
   * about 400).
   */
  readonly slotMs?: number;
  /** Milliseconds from `sendTransaction` to `confirmed`; 0 makes it immediate. Default 200. */
  readonly confirmationMs?: number;
}

/**
 * An event on the chain: a slot begins, a transaction reaches a commitment, or `setAccount` writes
 * an account.
 */
export type ChainEvent =
  | { readonly kind: 'slot'; readonly block: Block }
  | { readonly kind: 'transaction'; readonly level: Commitment; readonly landed: Landed }
  | { readonly kind: 'account'; readonly address: Address };

export interface SimulateOptions {
  readonly verifySignatures?: boolean;
  /** True if the simulation skips the check of the blockhash. */
  readonly replaceBlockhash?: boolean;
}

const SYSTEM_PROGRAM = toAddress('11111111111111111111111111111111');
const FAUCET_LAMPORTS = 5_000_000_000_000_000n;
const NOT_RUN: Omit<Simulated, 'failure'> = {
  included: false,
  logs: [],
  unitsConsumed: 0n,
  fee: 0n,
  returnData: undefined,
  inner: [],
  after: new Map(),
};

/**
 * A Solana cluster with a single node: the real runtime with slots, expiring blockhashes, delayed
 * confirmation, and history.
 */
export class SandboxChain implements Chain {
  readonly blocks = new Blocks();
  readonly history = new History();
  /** Milliseconds from `submit` to `confirmed`. */
  confirmationMs: number;

  private readonly vm = new Vm();
  private readonly timers = new Timers();
  private readonly listeners = new Set<(event: ChainEvent) => void>();
  private slotLength: number;
  private stopSlot: () => void = () => undefined;
  private airdrops = 0;

  constructor({ slotMs = 100, confirmationMs = 200 }: ChainOptions = {}) {
    this.slotLength = slotMs;
    this.confirmationMs = confirmationMs;
    seed(this.vm);
    this.fundSol(FAUCET, FAUCET_LAMPORTS);
    this.enterSlot();
    this.scheduleSlot();
  }

  get slot(): bigint {
    return this.blocks.tip.slot;
  }

  get slotMs(): number {
    return this.slotLength;
  }

  set slotMs(ms: number) {
    this.slotLength = ms;
    this.scheduleSlot();
  }

  account(address: Address): ChainAccount | undefined {
    return this.vm.account(address);
  }

  setAccount(address: Address, account: ChainAccount): void {
    this.vm.setAccount(address, account);
    this.emit({ kind: 'account', address });
  }

  /** Returns the accounts of a program that have matching data. */
  ownedBy(
    program: Address,
    matches: (data: Uint8Array) => boolean,
  ): { address: Address; account: ChainAccount }[] {
    return this.vm.ownedBy(program, matches);
  }

  /** Returns the lamports that make an account with `bytes` bytes of data rent-exempt. */
  rent(bytes: bigint): bigint {
    return this.vm.rent(bytes);
  }

  fundSol(address: Address, lamports: bigint): void {
    const account = this.account(address) ?? {
      lamports: 0n,
      data: new Uint8Array(),
      owner: SYSTEM_PROGRAM,
      executable: false,
    };
    this.setAccount(address, { ...account, lamports: account.lamports + lamports });
  }

  fundToken(owner: Address, mint: SandboxMint, amount: bigint): Promise<Address> {
    return fundToken(this, owner, mint, amount);
  }

  async tokenBalance(owner: Address, mint: SandboxMint): Promise<bigint> {
    return (
      readToken(this.account(await associatedTokenAccount(owner, mint.address, mint.tokenProgram)))
        ?.amount ?? 0n
    );
  }

  /** Writes a lookup table that v0 transactions may use at once; returns its address. */
  createLookupTable(
    addresses: readonly Address[],
    options: { readonly address?: Address; readonly authority?: Address } = {},
  ): Address {
    const address = options.address ?? addressOf(randomBytes(32));
    const data = lookupTableData(addresses, options.authority);
    this.setAccount(address, {
      lamports: this.rent(BigInt(data.length)),
      data,
      owner: LOOKUP_TABLE_PROGRAM,
      executable: false,
    });
    return address;
  }

  /** Runs a transaction on the current state without a change to it. */
  simulate(transaction: WireTransaction, options: SimulateOptions = {}): Simulated {
    const failure = options.replaceBlockhash ? undefined : this.refusal(transaction);
    return failure === undefined
      ? this.vm.simulate(transaction, options.verifySignatures ?? false)
      : { ...NOT_RUN, failure };
  }

  /**
   * Accepts a transaction. It runs after half of the confirmation delay, if it is still valid, and
   * is `confirmed` after the whole delay.
   */
  submit(transaction: WireTransaction): void {
    const half = this.confirmationMs / 2;
    this.timers.after(half, () => {
      const landed = this.execute(transaction);
      if (landed) this.timers.after(half, () => this.reach(landed, 'confirmed'));
    });
  }

  /** Sends lamports from the faucet in a separate transaction; returns its signature. */
  airdrop(to: Address, lamports: bigint): string {
    const transaction = airdropTransaction(
      to,
      lamports,
      this.blocks.tip.hash,
      (this.airdrops += 1),
    );
    this.submit(transaction);
    return transaction.signature;
  }

  /**
   * Skips a number of slots at once. The default expires every blockhash, also for readers of
   * finalized blocks.
   */
  warp(slots = Number(MAX_AGE + FINALITY) + 1): void {
    this.blocks.advance(slots);
    this.enterSlot();
    this.scheduleSlot();
  }

  /** Calls `listener` on every event; returns a function that stops this. */
  listen(listener: (event: ChainEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.timers.close();
    this.listeners.clear();
  }

  private execute(transaction: WireTransaction): Landed | undefined {
    if (this.refusal(transaction) !== undefined) return undefined;
    const read = (address: Address) => this.account(address);
    const loaded = loadKeys(transaction, read) ?? { writable: [], readonly: [] };
    const keys = allKeys(transaction, loaded);
    const before = readBalances(keys, read);
    const outcome = this.vm.execute(transaction);
    if (!outcome.included) return undefined;
    const landed: Landed = {
      transaction,
      outcome,
      slot: this.slot,
      time: Math.floor(Date.now() / 1000),
      keys,
      writable: [
        ...transaction.keys.filter((_, index) => isStaticWritable(transaction, index)),
        ...loaded.writable,
      ],
      loaded,
      before,
      after: readBalances(keys, read),
      memo: memosOf(transaction, keys),
      level: 'processed',
    };
    this.history.add(landed);
    this.emit({ kind: 'transaction', level: 'processed', landed });
    return landed;
  }

  /** Returns the reason why the cluster refuses to run the transaction, or undefined. */
  private refusal(transaction: WireTransaction): string | undefined {
    if (!this.blocks.isValid(transaction.blockhash)) return 'BlockhashNotFound';
    return this.history.has(transaction) ? 'AlreadyProcessed' : undefined;
  }

  private reach(landed: Landed, level: 'confirmed' | 'finalized'): void {
    if (landed.level === 'finalized' || landed.level === level) return;
    if (level === 'finalized') this.reach(landed, 'confirmed');
    landed.level = level;
    this.emit({ kind: 'transaction', level, landed });
  }

  private scheduleSlot(): void {
    this.stopSlot();
    if (this.slotLength <= 0) return;
    this.stopSlot = this.timers.after(this.slotLength, () => {
      this.blocks.advance();
      this.enterSlot();
      this.scheduleSlot();
    });
  }

  private enterSlot(): void {
    const block = this.blocks.tip;
    this.vm.setSlot(
      block.slot,
      BigInt(Math.floor(Date.now() / 1000)),
      block.slot / SLOTS_PER_EPOCH,
      () => this.blocks.slotHashes(),
    );
    this.emit({ kind: 'slot', block });
    for (const landed of this.history.finalize(block.slot - FINALITY))
      this.reach(landed, 'finalized');
  }

  private emit(event: ChainEvent): void {
    for (const listener of [...this.listeners]) listener(event);
  }
}
