import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import type { Account } from '../rpc/rpc.js';
import type { Address } from '../types.js';
import {
  ACCOUNT_BYTES,
  accountIn,
  keyAt,
  MINT_BYTES,
  mintIn,
  viewOf,
  type PlainAccount,
  type PlainMint,
} from './accounts.js';
import { extensionName, mintFacts, readExtensions } from './extensions.js';
import type { MintFacts } from './extensions.js';

/** A mint as it lies on the chain, with what its extensions let others do to a payment. */
export interface Mint extends MintFacts, PlainMint {
  /** Names in the order found; one we do not know is `unknown:<type>`. */
  readonly extensions: readonly string[];
}

/** A token account as it lies on the chain. */
export interface TokenAccount extends PlainAccount {
  readonly delegate?: Address;
  readonly delegatedAmount: bigint;
  readonly closeAuthority?: Address;
  /** Holds wrapped SOL. */
  readonly isNative: boolean;
  readonly extensions: readonly string[];
  /** A transfer to it fails unless a memo comes right before. */
  readonly requiresMemo: boolean;
}

/**
 * Token-2022 tells its multisigs by their length alone, and pads other accounts that would have it.
 */
const MULTISIG_BYTES = 355;
/** Where Token-2022 says which kind of account the extensions belong to. */
const KIND_AT = ACCOUNT_BYTES;
const MINT_KIND = 1;
const ACCOUNT_KIND = 2;

/** Where a wrapped SOL account says which of its lamports are rent. */
const RENT_AT = 113;

/** Decodes an initialised mint of either token program; undefined for anything else. */
export function decodeMint(account: Account): Mint | undefined {
  const extensions = extensionsOf(account, MINT_BYTES, MINT_KIND);
  const mint = extensions === undefined ? undefined : mintIn(account);
  const facts = extensions === undefined ? undefined : mintFacts(extensions);
  if (extensions === undefined || mint === undefined || facts === undefined) return undefined;
  return { ...mint, extensions: extensions.map((one) => extensionName(one.type)), ...facts };
}

/** Decodes an initialised token account of either token program; undefined for anything else. */
export function decodeTokenAccount(account: Account): TokenAccount | undefined {
  const extensions = extensionsOf(account, ACCOUNT_BYTES, ACCOUNT_KIND);
  const plain = extensions === undefined ? undefined : accountIn(account);
  if (extensions === undefined || plain === undefined) return undefined;
  const { data } = account;
  const view = viewOf(data);
  const { state, ...fields } = plain;
  return {
    ...fields,
    ...(view.getUint32(72, true) === 1 ? { delegate: keyAt(data, 76) } : {}),
    delegatedAmount: view.getBigUint64(121, true),
    ...(view.getUint32(129, true) === 1 ? { closeAuthority: keyAt(data, 133) } : {}),
    state,
    isNative: view.getUint32(109, true) === 1,
    extensions: extensions.map((one) => extensionName(one.type)),
    requiresMemo: extensions.some(
      (one) => extensionName(one.type) === 'memoTransfer' && one.value[0] !== 0,
    ),
  };
}

/**
 * Lamports that a wrapped SOL account holds beyond its rent and its amount. Any wallet may send
 * them, and any may have them counted: then they are wrapped SOL like the rest.
 */
export function uncountedLamports(
  { data, lamports }: Account,
  { isNative, amount }: TokenAccount,
): bigint {
  if (!isNative) return 0n;
  const counted = viewOf(data).getBigUint64(RENT_AT, true) + amount;
  return lamports > counted ? lamports - counted : 0n;
}

/**
 * The extensions of an account of the right program, length and kind; an account of the classic
 * program has none.
 */
function extensionsOf({ data, owner }: Account, baseBytes: number, kind: number) {
  if (owner === TOKEN_PROGRAM) return data.length === baseBytes ? [] : undefined;
  if (owner !== TOKEN_2022_PROGRAM) return undefined;
  if (data.length === baseBytes) return [];
  if (data.length <= KIND_AT || data.length === MULTISIG_BYTES || data[KIND_AT] !== kind)
    return undefined;
  // A mint is padded with zeros to the length of an account, so that the kind is at one place for
  // both.
  if (data.subarray(baseBytes, KIND_AT).some((byte) => byte !== 0)) return undefined;
  return readExtensions(data.subarray(KIND_AT + 1));
}
