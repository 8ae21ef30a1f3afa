import { base58 } from '@scure/base';
import { SOL, SYSTEM, TOKEN } from './places.js';

/** An account on the simulated chain. */
export interface Account {
  readonly lamports: bigint;
  /** Program that owns the account. */
  readonly owner: string;
  readonly token?: TokenState;
  readonly mint?: MintState;
}

export interface TokenState {
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
}

export interface MintState {
  readonly decimals: number;
  readonly supply: bigint;
}

export const rentOf = (bytes: number): bigint => BigInt((bytes + 128) * 6_960);
const MINT_BYTES = 82;

/**
 * Returns the data size of an account. Token accounts of Token-2022 are longer by their account
 * type and the ImmutableOwner extension.
 */
export function bytesOf({ owner, token, mint }: Pick<Account, 'owner' | 'token' | 'mint'>): number {
  if (mint !== undefined) return MINT_BYTES;
  if (token === undefined) return 0;
  return owner === TOKEN ? 165 : 170;
}

export function wallet(lamports: bigint): Account {
  return { lamports, owner: SYSTEM };
}

export function mintAccount(program: string, decimals: number): Account {
  return { lamports: rentOf(MINT_BYTES), owner: program, mint: { decimals, supply: 10n ** 18n } };
}

export function tokenAccount(
  program: string,
  mint: string,
  owner: string,
  amount: bigint,
): Account {
  const token = { mint, owner, amount };
  const rent = rentOf(bytesOf({ owner: program, token }));
  return { lamports: rent + (mint === SOL ? amount : 0n), owner: program, token };
}

const written = new WeakMap<Account, string>();

/** Returns an account's data in base64, as a node returns it. */
export function dataOf(account: Account): string {
  let text = written.get(account);
  if (text === undefined)
    written.set(account, (text = Buffer.from(bytesIn(account)).toString('base64')));
  return text;
}

/** Returns an account's data as the chain stores it. */
export function bytesIn({ owner, token, mint }: Account): Uint8Array {
  const data = new Uint8Array(bytesOf({ owner, ...(token && { token }), ...(mint && { mint }) }));
  const view = new DataView(data.buffer);
  if (mint !== undefined) {
    view.setBigUint64(36, mint.supply, true);
    data[44] = mint.decimals;
    data[45] = 1;
  }
  if (token !== undefined) {
    data.set(base58.decode(token.mint), 0);
    data.set(base58.decode(token.owner), 32);
    view.setBigUint64(64, token.amount, true);
    data[108] = 1;
    if (token.mint === SOL) {
      view.setUint32(109, 1, true);
      view.setBigUint64(113, rentOf(165), true);
    }
    // Token-2022: the account type, then an empty ImmutableOwner extension.
    if (data.length === 170) data.set([2, 7, 0, 0, 0], 165);
  }
  return data;
}
