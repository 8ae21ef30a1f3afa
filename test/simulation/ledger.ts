import { createHash } from 'node:crypto';
import type { Account } from './accounts.js';
import { execute, type Effect, type Venue } from './execute.js';
import { addressOf, readMessage, readWire, type Message } from './wire.js';

/** A transaction that is in a block. */
export interface Landed {
  /** Base58 of the fee payer's signature. */
  readonly id: string;
  readonly signatures: readonly string[];
  readonly bytes: Uint8Array;
  readonly slot: number;
  /** True time. */
  readonly at: number;
  /** What the process's clock said. */
  readonly wall: number;
  readonly message: Message;
  readonly error: object | null;
  readonly fee: bigint;
  readonly memo: string | null;
  /** What its accounts held, in the order of its keys. */
  readonly before: readonly (Account | undefined)[];
  readonly after: readonly (Account | undefined)[];
}

/** Why a transaction is in no block. */
export type Unlanded = 'known' | 'expired' | 'unpaid';

/** The chain: accounts as of each slot, and what landed. */
export interface Ledger {
  /** The slot that is being filled. */
  slot(): number;
  heightAt(slot: number): number;
  /** The hash of the newest block as of a slot. */
  hashAt(slot: number): string;
  /** The height of the block with a hash; undefined if there is none. */
  heightOf(hash: string): number | undefined;
  /** As of a slot. */
  account(address: string, slot: number): Account | undefined;
  /** All addresses at which anything ever lay. */
  addresses(): Iterable<string>;
  /**
   * Sets what lay at an address before the world began. With a payer, its history shows how it came
   * there.
   */
  put(address: string, account: Account, payer?: string): void;
  /** Takes a transaction into the block that is being filled, if it may be there. */
  land(bytes: Uint8Array): Landed | Unlanded;
  simulate(message: Message, slot: number): Effect;
  landed(id: string): Landed | undefined;
  /** Transactions that name an account, newest last. */
  of(address: string): readonly Landed[];
  all(): readonly Landed[];
  /** The blocks from a slot on were on a fork that is dropped. Returns what was in them. */
  drop(from: number): readonly Landed[];
}

export const SLOT_MS = 400;
const FIRST_SLOT = 300_000_000;
/** One slot in so many has no block. */
const SKIPPED = 20;
const HEIGHT_BEHIND = 20_000_000;
/** Slots before the world began, more than any blockhash lives. */
const LONG_AGO = 10_000;
/** Blocks for which a transaction may use a hash. */
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
  let all: Landed[] = [];
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
    all.push(landed);
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
      // One message lands once, whatever its first signature is.
      const isSame = (one: Landed) =>
        one.signatures.some((signature) => signatures.includes(signature));
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
    all: () => all,
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
      const gone = all.filter((one) => one.slot >= from);
      all = all.filter((one) => one.slot < from);
      for (const { id } of gone) byId.delete(id);
      for (const [address, list] of byAddress)
        byAddress.set(
          address,
          list.filter((one) => one.slot < from),
        );
      return gone;
    },
  };
}
