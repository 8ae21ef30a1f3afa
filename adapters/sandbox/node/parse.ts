import type { Address } from '@solana/kit';
import { addressOf, view } from '../chain/bytes.js';
import type { Json } from '../chain/json.js';
import { isTokenProgram } from '../chain/token.js';
import { ASSOCIATED_TOKEN_PROGRAM } from '../mints.js';
import { uiTokenAmount } from './encode.js';

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

type Info = Readonly<Record<string, Json>>;

/** The form in which Agave's `transaction-status` describes an instruction. */
interface Form {
  readonly type: string;
  /** Names of the accounts, in order. */
  readonly accounts: readonly string[];
  /** Name of the next account, which signs, or is a multisig before its signers. */
  readonly authority?: string;
  /** Least number of data bytes. */
  readonly size: number;
  readonly info?: (data: Uint8Array) => Info;
}

const u64 = (data: Uint8Array, at: number) => view(data).getBigUint64(at, true);
const key = (data: Uint8Array, at: number) => addressOf(data.slice(at, at + 32));
const lamports = (data: Uint8Array) => ({ lamports: u64(data, 4) });
const amount = (data: Uint8Array) => ({ amount: u64(data, 1).toString() });
const checkedAmount = (data: Uint8Array) => ({
  tokenAmount: uiTokenAmount(u64(data, 1), data[9] ?? 0),
});

const SYSTEM: Readonly<Record<number, Form>> = {
  0: {
    type: 'createAccount',
    accounts: ['source', 'newAccount'],
    size: 52,
    info: (data) => ({ ...lamports(data), space: u64(data, 12), owner: key(data, 20) }),
  },
  1: { type: 'assign', accounts: ['account'], size: 36, info: (data) => ({ owner: key(data, 4) }) },
  2: { type: 'transfer', accounts: ['source', 'destination'], size: 12, info: lamports },
  8: {
    type: 'allocate',
    accounts: ['account'],
    size: 12,
    info: (data) => ({ space: u64(data, 4) }),
  },
};

const TOKEN: Readonly<Record<number, Form>> = {
  3: {
    type: 'transfer',
    accounts: ['source', 'destination'],
    authority: 'authority',
    size: 9,
    info: amount,
  },
  4: {
    type: 'approve',
    accounts: ['source', 'delegate'],
    authority: 'owner',
    size: 9,
    info: amount,
  },
  5: { type: 'revoke', accounts: ['source'], authority: 'owner', size: 1 },
  8: { type: 'burn', accounts: ['account', 'mint'], authority: 'authority', size: 9, info: amount },
  9: { type: 'closeAccount', accounts: ['account', 'destination'], authority: 'owner', size: 1 },
  12: {
    type: 'transferChecked',
    accounts: ['source', 'mint', 'destination'],
    authority: 'authority',
    size: 10,
    info: checkedAmount,
  },
  13: {
    type: 'approveChecked',
    accounts: ['source', 'mint', 'delegate'],
    authority: 'owner',
    size: 10,
    info: checkedAmount,
  },
  17: { type: 'syncNative', accounts: ['account'], size: 1 },
  18: {
    type: 'initializeAccount3',
    accounts: ['account', 'mint'],
    size: 33,
    info: (data) => ({ owner: key(data, 1) }),
  },
  22: { type: 'initializeImmutableOwner', accounts: ['account'], size: 1 },
};

const CREATION = ['source', 'account', 'wallet', 'mint', 'systemProgram', 'tokenProgram'] as const;
const ASSOCIATED: Readonly<Record<number, Form>> = {
  0: { type: 'create', accounts: CREATION, size: 0 },
  1: { type: 'createIdempotent', accounts: CREATION, size: 1 },
};

const AUTHORITIES = ['mintTokens', 'freezeAccount', 'accountOwner', 'closeAccount'] as const;

/** Returns the form of SetAuthority; the kind of authority decides the name of its account. */
function setAuthority(data: Uint8Array): Form | undefined {
  const authorityType = AUTHORITIES[data[1] ?? -1];
  if (authorityType === undefined || data.length < (data[2] === 1 ? 35 : 3)) return undefined;
  const first =
    authorityType === 'mintTokens' || authorityType === 'freezeAccount' ? 'mint' : 'account';
  const newAuthority = data[2] === 1 ? key(data, 3) : null;
  return {
    type: 'setAuthority',
    accounts: [first],
    authority: 'authority',
    size: 3,
    info: () => ({ authorityType, newAuthority }),
  };
}

function formOf(program: Address, data: Uint8Array): Form | undefined {
  if (program === SYSTEM_PROGRAM)
    return data.length < 4 ? undefined : SYSTEM[view(data).getUint32(0, true)];
  if (program === ASSOCIATED_TOKEN_PROGRAM) return ASSOCIATED[data[0] ?? 0];
  if (!isTokenProgram(program)) return undefined;
  return data[0] === 6 ? setAuthority(data) : TOKEN[data[0] ?? -1];
}

/** Returns a node's name for a program; both token programs have the same name. */
function nameOf(program: Address): string {
  if (program === SYSTEM_PROGRAM) return 'system';
  return program === ASSOCIATED_TOKEN_PROGRAM ? 'spl-associated-token-account' : 'spl-token';
}

/** Parses a memo to its text. */
function parseMemo(programId: Address, data: Uint8Array): Info | undefined {
  const text = new TextDecoder().decode(data);
  return text.includes('\ufffd') ? undefined : { program: 'spl-memo', programId, parsed: text };
}

/**
 * Parses an instruction as a node does: memos, and the usual instructions of the System, token and
 * associated token programs. Returns undefined for other instructions.
 */
export function parseInstruction(
  program: Address,
  accounts: readonly Address[],
  data: Uint8Array,
): Info | undefined {
  if (program === MEMO_PROGRAM) return parseMemo(program, data);
  const form = formOf(program, data);
  if (form === undefined || data.length < form.size || accounts.length < form.accounts.length)
    return undefined;
  const named = Object.fromEntries(
    form.accounts.map((name, index) => [name, accounts[index] ?? null]),
  );
  const info = { ...named, ...form.info?.(data), ...authorityOf(form, accounts) };
  return { program: nameOf(program), programId: program, parsed: { type: form.type, info } };
}

function authorityOf(
  { authority, accounts: { length } }: Form,
  accounts: readonly Address[],
): Info {
  const holder = accounts[length];
  if (authority === undefined || holder === undefined) return {};
  const signers = accounts.slice(length + 1);
  if (signers.length === 0) return { [authority]: holder };
  return { [`multisig${authority.charAt(0).toUpperCase()}${authority.slice(1)}`]: holder, signers };
}
