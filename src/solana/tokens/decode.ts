import { FundsError } from '../../errors.js';
import { viewOf } from '../../internal/bytes.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import type { Account } from '../rpc/rpc.js';
import type { Address } from '../types.js';
import {
  ACCOUNT_BYTES,
  accountIn,
  keyAt,
  MINT_BYTES,
  mintIn,
  type PlainAccount,
  type PlainMint,
} from './accounts.js';
import { extensionName, mintFacts, readExtensions } from './extensions.js';
import type { MintFacts } from './extensions.js';

/** A mint on the chain, with the powers over a payment that its extensions give to others. */
export interface Mint extends MintFacts, PlainMint {
  /** Names in their order on the chain; an unknown extension is `unknown:<type>`. */
  readonly extensions: readonly string[];
}

/** A token account on the chain, with all fields. */
export interface TokenAccount extends PlainAccount {
  readonly delegate?: Address;
  readonly closeAuthority?: Address;
  readonly isNative: boolean;
  readonly extensions: readonly string[];
  /** Whether a transfer to the account fails unless a memo comes right before it. */
  readonly requiresMemo: boolean;
  /** Whether a transfer to the account fails unless it is confidential. */
  readonly isConfidential?: true;
  /** Whether no other program may transfer the wallet's tokens of the account, as a swap does. */
  readonly hasCpiGuard?: true;
}

/**
 * Token-2022 recognizes its multisigs by this length alone. It pads any other account that would
 * have this length.
 */
const MULTISIG_BYTES = 355;
/** Offset at which Token-2022 has the kind of account: mint or token account. */
const KIND_AT = ACCOUNT_BYTES;
const MINT_KIND = 1;
const ACCOUNT_KIND = 2;

/** Offset at which a confidential account's extension says whether it takes plain transfers. */
const TAKES_PLAIN_AT = 262;

/** Offset at which a wrapped SOL account has the number of its lamports that are rent. */
const RENT_AT = 113;

/** Decodes a mint. Throws `unknown_mint` if there is none at the address. */
export function mintAt(address: Address, account: Account | null | undefined): Mint {
  const mint = account ? decodeMint(account) : undefined;
  if (mint === undefined) throw unknownMint(address);
  return mint;
}

export function unknownMint(mint: Address): FundsError {
  return new FundsError(
    'unknown_mint',
    `There is no token mint at ${mint} on this network. Check the mint, and the network of the client.`,
    { details: { mint } },
  );
}

/** Decodes an initialised mint of either token program; undefined for anything else. */
export function decodeMint(account: Account): Mint | undefined {
  const extensions = extensionsOf(account, MINT_BYTES, MINT_KIND);
  const mint = extensions === undefined ? undefined : mintIn(account);
  const facts = extensions === undefined ? undefined : mintFacts(extensions);
  if (extensions === undefined || mint === undefined || facts === undefined) return undefined;
  return { ...mint, extensions: extensions.map((item) => extensionName(item.type)), ...facts };
}

/** Decodes an initialised token account of either token program; undefined for anything else. */
export function decodeTokenAccount(account: Account): TokenAccount | undefined {
  const extensions = extensionsOf(account, ACCOUNT_BYTES, ACCOUNT_KIND);
  const plain = extensions === undefined ? undefined : accountIn(account);
  if (extensions === undefined || plain === undefined) return undefined;
  const { data } = account;
  const view = viewOf(data);
  const { state, ...fields } = plain;
  const valueOf = (name: string) =>
    extensions.find((item) => extensionName(item.type) === name)?.value;
  return {
    ...fields,
    ...(view.getUint32(72, true) === 1 ? { delegate: keyAt(data, 76) } : {}),
    ...(view.getUint32(129, true) === 1 ? { closeAuthority: keyAt(data, 133) } : {}),
    state,
    isNative: view.getUint32(109, true) === 1,
    extensions: extensions.map((item) => extensionName(item.type)),
    requiresMemo: (valueOf('memoTransfer')?.[0] ?? 0) !== 0,
    ...(valueOf('confidentialTransferAccount')?.[TAKES_PLAIN_AT] === 0
      ? { isConfidential: true }
      : {}),
    ...(valueOf('cpiGuard')?.[0] ? { hasCpiGuard: true } : {}),
  };
}

/**
 * Returns the lamports that a wrapped SOL account holds beyond its rent and its amount. Any wallet
 * may send such lamports, and any wallet may sync the account: then they are wrapped SOL.
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
 * Returns the extensions of an account with the expected program, length and kind; undefined if any
 * of these differs. An account of the classic token program has no extensions.
 */
function extensionsOf({ data, owner }: Account, baseBytes: number, kind: number) {
  if (owner === TOKEN_PROGRAM) return data.length === baseBytes ? [] : undefined;
  if (owner !== TOKEN_2022_PROGRAM) return undefined;
  if (data.length === baseBytes) return [];
  if (data.length <= KIND_AT || data.length === MULTISIG_BYTES || data[KIND_AT] !== kind)
    return undefined;
  // A mint is padded with zeros to the length of an account, so that both have the kind at the same
  // offset.
  if (data.subarray(baseBytes, KIND_AT).some((byte) => byte !== 0)) return undefined;
  return readExtensions(data.subarray(KIND_AT + 1));
}
