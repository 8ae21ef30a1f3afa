import { JUPITER_PROGRAM, SYSTEM_PROGRAM } from '../network.js';
import { type DecodedTransaction, decodeTransaction, resolveInstructions } from '../solana/transaction.js';
import type { Address, Instruction, LookupTable } from '../solana/types.js';
import { type Rule, enforce, refusal } from './rule.js';

interface TransactionSubject {
  readonly decoded: DecodedTransaction;
  readonly instructions: readonly Instruction[] | undefined;
  readonly wallet: Address;
}

const MAX_INSTRUCTIONS = 12;

const ADVANCE_NONCE = [4, 0, 0, 0];

function advancesNonce(instruction: Instruction): boolean {
  return instruction.program === SYSTEM_PROGRAM && ADVANCE_NONCE.every((byte, index) => instruction.data[index] === byte);
}

function isJupiter(instruction: Instruction): boolean {
  return instruction.program === JUPITER_PROGRAM;
}

/** What a foreign transaction must be before its one swap instruction is looked at. Everything else in it is dropped. */
export const transactionRules: readonly Rule<TransactionSubject>[] = [
  {
    id: 'transaction_fee_payer',
    refuses: 'the transaction is made for another wallet',
    passes: ({ decoded, wallet }) => decoded.staticAccounts[0] === wallet,
  },
  {
    id: 'transaction_signers',
    refuses: 'the transaction wants the signature of somebody else than the wallet',
    passes: ({ decoded }) => decoded.header.numRequiredSignatures === 1 && decoded.header.numReadonlySigned === 0,
  },
  {
    id: 'transaction_presigned',
    refuses: 'the transaction arrived with a signature in it',
    passes: ({ decoded }) => decoded.signatures.length === 1 && decoded.signatures.every((one) => one.every((byte) => byte === 0)),
  },
  {
    id: 'transaction_accounts',
    refuses: 'the transaction points at accounts that its keys and lookup tables do not have',
    passes: ({ instructions }) => instructions !== undefined,
  },
  {
    id: 'transaction_length',
    refuses: `the transaction has more than ${MAX_INSTRUCTIONS} instructions`,
    passes: ({ decoded }) => decoded.instructions.length <= MAX_INSTRUCTIONS,
  },
  {
    id: 'durable_nonce',
    refuses: 'the transaction lives on a durable nonce',
    passes: ({ instructions }) => instructions?.some(advancesNonce) === false,
  },
  {
    id: 'one_swap',
    refuses: 'the transaction does not have exactly one instruction of Jupiter',
    passes: ({ instructions }) => instructions?.filter(isJupiter).length === 1,
  },
];

const UNREADABLE = { id: 'transaction_encoding', refuses: 'the transaction is not one v0 transaction in its one encoding' };

/** The lookup tables that a foreign transaction uses, for us to fetch; refused (`unsafe_swap`) where it cannot be read. */
export function lookupTablesOf(transaction: Uint8Array): Address[] {
  return read(transaction).lookups.map((lookup) => lookup.table);
}

/**
 * Takes the one swap instruction out of a foreign unsigned transaction. `tables` are its lookup tables as fetched by us.
 * Throws `unsafe_swap` for anything that is not such a transaction.
 */
export function extractSwapInstruction(transaction: Uint8Array, tables: readonly LookupTable[], wallet: Address): Instruction {
  const decoded = read(transaction);
  const subject = { decoded, instructions: resolveInstructions(decoded, tables), wallet };
  enforce(transactionRules, subject);
  const instruction = subject.instructions?.find(isJupiter);
  if (instruction === undefined) throw refusal(UNREADABLE);
  return instruction;
}

function read(transaction: Uint8Array): DecodedTransaction {
  const decoded = decodeTransaction(transaction);
  if (decoded === undefined) throw refusal(UNREADABLE);
  return decoded;
}
