import { createHash } from 'node:crypto';
import type { Account } from './accounts.js';
import { execute, type Effect, type Venue } from './execute.js';
import { addressOf, readMessage, readWire, type Message } from './wire.js';

/** A transaction in a block. */
export interface Landed {
  /** Base58 of the fee payer's signature. */
  readonly id: string;
  readonly signatures: readonly string[];
  readonly bytes: Uint8Array;
  readonly slot: number;
  /** True time. */
  readonly at: number;
  /** Time of the process's clock. */
  readonly wall: number;
  readonly message: Message;
  readonly error: object | null;
  readonly fee: bigint;
  readonly memo: string | null;
  /** Accounts before the transaction, in the order of its keys. */
  readonly before: readonly (Account | undefined)[];
  readonly after: readonly (Account | undefined)[];
}

/** Reason why a transaction is in no block. */
export type Unlanded = 'known' | 'expired' | 'unpaid';

/** The chain: accounts as of each slot, and landed transactions. */
export interface Ledger {
  /** Returns the current slot. */
  slot(): number;
  heightAt(slot: number): number;
  /** Returns the hash of the newest block as of a slot. */
  hashAt(slot: number): string;
  /** Returns the height of the block with a hash; undefined for an unknown hash. */
  heightOf(hash: string): number | undefined;
  /** Returns an account as of a slot. */
  account(address: string, slot: number): Account | undefined;
  /** Returns every address that ever had an account. */
  addresses(): Iterable<string>;
  /**
   * Sets an account as of the start of the world. With a payer, the account's history begins with a
   * transaction of that payer.
   */
  put(address: string, account: Account, payer?: string): void;
  /** Adds a transaction to the current block, or returns the reason why it cannot land. */
  land(bytes: Uint8Array): Landed | Unlanded;
  simulate(message: Message, slot: number): Effect;
  landed(id: string): Landed | undefined;
  /** Returns the transactions that name an account, newest last. */
  of(address: string): readonly Landed[];
  all(): readonly Landed[];
  /** Drops the blocks from a slot on, as an abandoned fork. Returns their transactions. */
  drop(from: number): readonly Landed[];
}

export const SLOT_MS = 400;
const FIRST_SLOT = 300_000_000;
/** Distance between slots without a block: each 20th slot has none. */
const SKIPPED = 20;
const HEIGHT_BEHIND = 20_000_000;
/** Slots before the start of the world for its first accounts: older than any valid blockhash. */
const LONG_AGO = 10_000;
/** Blocks for which a blockhash is valid. */
const LIFE = 150;

const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

interface Version {
  readonly slot: number;
  readonly account: Account | undefined;
}

export function createLedger(
  seed: string,
  time: { now(): number; wall(): number },
  venue: Venue,
): Ledger {
  const accounts = new Map<string, Version[]>();
  const byId = new Map<string, Landed>();
  const byAddress = new Map<string, Landed[]>();
  const hashes = new Map<number, string>();
  const heights = new Map<string, number>();
  let history: Landed[] = [];
  let forks = 0;

  const slot = (): number => FIRST_SLOT + Math.floor(time.now() / SLOT_MS);
  const heightAt = (of: number): number =>
    of - HEIGHT_BEHIND - Math.floor((of - FIRST_SLOT) / SKIPPED);
  const hashAt = (of: number): string => {
    const height = heightAt(of);
    let hash = hashes.get(height);
    if (hash === undefined) {
      hash = addressOf(createHash('sha256').update(`${seed} ${forks} ${height}`).digest());
      hashes.set(height, hash);
      heights.set(hash, height);
    }
    return hash;
  };
  const account = (address: string, of: number): Account | undefined => {
    const versions = accounts.get(address) ?? [];
    for (let index = versions.length - 1; index >= 0; index -= 1) {
      const version = versions[index];
      if (version !== undefined && version.slot <= of) return version.account;
    }
    return undefined;
  };
  const write = (address: string, value: Account | undefined, of: number): void => {
    const versions = accounts.get(address) ?? [];
    if (versions[versions.length - 1]?.slot === of) versions.pop();
    versions.push({ slot: of, account: value });
    accounts.set(address, versions);
  };

  const remember = (landed: Landed): void => {
    history.push(landed);
    byId.set(landed.id, landed);
    for (const key of landed.message.keys)
      byAddress.set(key, [...(byAddress.get(key) ?? []), landed]);
  };
  const funding = (address: string, value: Account, payer: string): Landed => {
    const id = addressOf(createHash('sha512').update(`${seed} ${address}`).digest());
    const [header, keys] = [
      [1, 0, 0],
      [payer, address],
    ] as const;
    const before = [account(payer, 0), undefined];
    return {
      ...{
        id,
        signatures: [id],
        bytes: new Uint8Array(),
        slot: FIRST_SLOT - LONG_AGO,
        at: -Infinity,
        wall: -Infinity,
        error: null,
      },
      message: {
        signers: [payer],
        keys,
        header,
        blockhash: addressOf(new Uint8Array(32)),
        steps: [],
        compiled: [],
      },
      ...{ fee: 0n, memo: null, before, after: [account(payer, 0), value] },
    };
  };

  return {
    slot,
    heightAt,
    hashAt,
    heightOf: (hash) => heights.get(hash),
    account,
    addresses: () => accounts.keys(),
    put(address, value, payer) {
      write(address, value, 0);
      if (payer !== undefined) remember(funding(address, value, payer));
    },
    land(bytes) {
      const wire = readWire(bytes);
      const message = readMessage(wire.message);
      const signatures = wire.signatures.map(addressOf);
      const [id = ''] = signatures;
      const now = slot();
      const height = heights.get(message.blockhash);
      if (byId.has(id)) return 'known';
      if (height === undefined || height > heightAt(now) || height + LIFE < heightAt(now))
        return 'expired';
      // A message lands a single time, even if its fee payer signs it again.
      const isSame = (earlier: Landed) =>
        earlier.signatures.some((signature) => signatures.includes(signature));
      if (byAddress.get(message.signers[message.signers.length - 1] ?? '')?.some(isSame) === true)
        return 'known';
      const effect = execute(message, (address) => account(address, now), venue, false);
      if (effect.fee < 0n) return 'unpaid';
      const before = message.keys.map((key) => account(key, now));
      for (const [address, value] of effect.changes) write(address, value, now);
      const memo = message.steps.find(({ program }) => program === MEMO);
      const landed: Landed = {
        ...{
          id,
          signatures,
          bytes,
          slot: now,
          at: time.now(),
          wall: time.wall(),
          message,
          error: effect.error,
          fee: effect.fee,
          before,
        },
        memo:
          memo === undefined
            ? null
            : `[${memo.data.length}] ${Buffer.from(memo.data).toString('utf8')}`,
        after: message.keys.map((key) => account(key, now)),
      };
      remember(landed);
      return landed;
    },
    simulate: (message, of) => execute(message, (address) => account(address, of), venue, true),
    landed: (id) => byId.get(id),
    of: (address) => byAddress.get(address) ?? [],
    all: () => history,
    drop(from) {
      forks += 1;
      for (const [hash, height] of heights) {
        if (height < heightAt(from)) continue;
        heights.delete(hash);
        hashes.delete(height);
      }
      for (const [address, versions] of accounts)
        accounts.set(
          address,
          versions.filter((version) => version.slot < from),
        );
      const dropped = history.filter((landed) => landed.slot >= from);
      history = history.filter((landed) => landed.slot < from);
      for (const { id } of dropped) byId.delete(id);
      for (const [address, list] of byAddress)
        byAddress.set(
          address,
          list.filter((landed) => landed.slot < from),
        );
      return dropped;
    },
  };
}
