import { base58, viewOf } from '../../internal/bytes.js';
import { isTokenProgram } from '../../network.js';
import { SYSTEM_PROGRAM } from '../programs.js';
import { isObject, type UnknownRecord } from '../../internal/record.js';
import { isAddress } from '../address.js';
import { Fault } from '../rpc/fault.js';
import { asRecords, safeInteger } from '../rpc/reply.js';
import type { InnerInstruction } from '../rpc/rpc.js';
import type { Address } from '../types.js';

export const systemNames: readonly string[] = [
  'createAccount',
  'assign',
  'transfer',
  'createAccountWithSeed',
  'advanceNonce',
  'withdrawFromNonce',
  'initializeNonce',
  'authorizeNonce',
  'allocate',
  'allocateWithSeed',
  'assignWithSeed',
  'transferWithSeed',
  'upgradeNonce',
  'createAccountAllowPrefund',
];

/**
 * Names of instructions that both token programs have, by number. Extensions have higher numbers;
 * this list names only the first of them.
 */
export const tokenNames: readonly string[] = [
  'initializeMint',
  'initializeAccount',
  'initializeMultisig',
  'transfer',
  'approve',
  'revoke',
  'setAuthority',
  'mintTo',
  'burn',
  'closeAccount',
  'freezeAccount',
  'thawAccount',
  'transferChecked',
  'approveChecked',
  'mintToChecked',
  'burnChecked',
  'initializeAccount2',
  'syncNative',
  'initializeAccount3',
  'initializeMultisig2',
  'initializeMint2',
  'getAccountDataSize',
  'initializeImmutableOwner',
  'amountToUiAmount',
  'uiAmountToAmount',
  'initializeMintCloseAuthority',
];
export const extraTokenNames: Readonly<Record<number, string>> = {
  38: 'withdrawExcessLamports',
  45: 'unwrapLamports',
  255: 'batch',
};
const TRANSFER_FEE_EXTENSION = 26;
const TRANSFER_CHECKED_WITH_FEE = 1;

/** Index of the account that a System instruction creates. */
const CREATED_AT: Readonly<Record<string, number>> = {
  createAccount: 1,
  createAccountWithSeed: 1,
  createAccountAllowPrefund: 0,
};

/**
 * The most base58 digits of data that is decoded. Every named instruction is shorter, and the time
 * to decode grows with the square of the length.
 */
const LONGEST_NAMED = 256;

/**
 * Reads the calls between programs in an answer of `simulateTransaction`. Throws a {@link Fault}
 * if a call cannot be read.
 */
export function readInner(answer: unknown): InnerInstruction[] {
  return asRecords(answer).flatMap(({ index, instructions }) => {
    const outer = safeInteger(index);
    return asRecords(instructions).map((call) => ({ outer, ...readCall(call) }));
  });
}

/**
 * Reads a call. Nodes parse calls of known programs; of other calls they give accounts and data.
 */
function readCall(call: UnknownRecord): Omit<InnerInstruction, 'outer'> {
  const { programId: program, parsed, accounts, data } = call;
  if (!isAddress(program)) throw unreadable();
  if ('parsed' in call)
    return {
      program,
      ...(isNamed(program) ? readParsed(program, parsed) : unnamed(addressesIn(parsed))),
    };
  if (!Array.isArray(accounts) || !accounts.every(isAddress) || typeof data !== 'string')
    throw unreadable();
  const name = isNamed(program) ? nameOf(program, data) : undefined;
  const created = program === SYSTEM_PROGRAM && name !== undefined ? CREATED_AT[name] : undefined;
  return {
    program,
    name,
    addresses: accounts,
    creates: created === undefined ? undefined : accounts[created],
  };
}

const isNamed = (program: Address): boolean =>
  program === SYSTEM_PROGRAM || isTokenProgram(program);
const unnamed = (addresses: readonly Address[]) => ({
  name: undefined,
  addresses,
  creates: undefined,
});
const unreadable = () => new Fault('invalid', 'a call between programs in it cannot be read');

function readParsed(
  program: Address,
  parsed: unknown,
): Omit<InnerInstruction, 'outer' | 'program'> {
  if (!isObject(parsed) || !('type' in parsed) || typeof parsed.type !== 'string')
    throw unreadable();
  const info = 'info' in parsed ? parsed.info : undefined;
  if (!isObject(info)) throw unreadable();
  const creates =
    program === SYSTEM_PROGRAM && 'newAccount' in info && isAddress(info.newAccount)
      ? info.newAccount
      : undefined;
  return { name: parsed.type, addresses: addressesIn(info), creates };
}

/**
 * Returns every address in the value at any depth: fields vary, and lists of signers are nested.
 */
function addressesIn(value: unknown): Address[] {
  // The list grows while it is walked. Recursion would let a node exhaust the stack.
  const values: unknown[] = [value];
  for (const nested of values) {
    if (!isObject(nested)) continue;
    const fields: readonly unknown[] = Object.values(nested);
    for (const field of fields) values.push(field);
  }
  return values.filter(isAddress);
}

function nameOf(program: Address, data: string): string | undefined {
  if (data.length > LONGEST_NAMED) return undefined;
  if (!/^[1-9A-HJ-NP-Za-km-z]*$/.test(data)) throw unreadable();
  const bytes = base58.decode(data);
  return program === SYSTEM_PROGRAM ? systemName(bytes) : tokenName(bytes);
}

function systemName(data: Uint8Array): string | undefined {
  return data.length < 4 ? undefined : systemNames[viewOf(data).getUint32(0, true)];
}

function tokenName([opcode, extension]: Uint8Array): string | undefined {
  if (opcode === undefined) return undefined;
  if (opcode === TRANSFER_FEE_EXTENSION && extension === TRANSFER_CHECKED_WITH_FEE)
    return 'transferCheckedWithFee';
  return tokenNames[opcode] ?? extraTokenNames[opcode];
}
