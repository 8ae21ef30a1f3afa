import { encodeJson, isList } from './json.js';
import type { Json } from './json.js';

/**
 * A transaction's error in the form JSON-RPC gives it: `"BlockhashNotFound"`,
 * `{"InstructionError":[0,{"Custom":1}]}`, ...
 */
export type Failure = Json;

/**
 * Parses the runtime's debug text, such as `InstructionError(0, Custom(6001))`, because the
 * runtime's package has no typed errors at run time.
 */
export function parseFailure(text: string): Failure {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|\d+|[(){},:]/g) ?? [];
  let at = 0;
  const list = (close: string, item: () => void): void => {
    at += 1;
    while (at < tokens.length && tokens[at] !== close) {
      item();
      if (tokens[at] === ',') at += 1;
    }
    at += 1;
  };
  const value = (): Json => {
    const token = tokens[at] ?? '';
    at += 1;
    if (/^\d/.test(token)) return Number(token);
    if (token.startsWith('"')) return token.slice(1, -1);
    if (tokens[at] === '(') {
      const items: Json[] = [];
      list(')', () => items.push(value()));
      const [only = null] = items;
      return { [token]: items.length === 1 ? only : items };
    }
    if (tokens[at] === '{') {
      const fields: Record<string, Json> = {};
      list('}', () => {
        const name = tokens[at] ?? '';
        at += 2; // the name and its colon
        fields[name] = value();
      });
      return { [token]: fields };
    }
    return token;
  };
  return value();
}

/**
 * Returns true if a transaction with this failure is in a block and paid its fee. A transaction
 * with any other failure never lands.
 */
export function isCharged(failure: Failure): boolean {
  const [kind] = variant(failure);
  return kind === 'InstructionError' || kind === 'InsufficientFundsForRent';
}

/** Returns the name and the detail of an error that is an object. */
function variant(error: Json): readonly [kind: string, detail: Json] {
  if (error === null || typeof error !== 'object' || isList(error)) return ['', null];
  const [[kind, detail = null] = ['', null]] = Object.entries(error);
  return [kind, detail];
}

// Sentences of Agave, because clients match on some of them.
const TRANSACTION_SENTENCES: Readonly<Record<string, string>> = {
  AccountLoadedTwice: 'Account loaded twice',
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  SignatureFailure: 'Transaction did not pass signature verification',
  InvalidProgramForExecution: 'This program may not be used for executing instructions',
  SanitizeFailure: 'Transaction failed to sanitize accounts offsets correctly',
  TooManyAccountLocks: 'Transaction locked too many accounts',
  AddressLookupTableNotFound: "Transaction loads an address table account that doesn't exist",
  InvalidAddressLookupTableOwner:
    'Transaction loads an address table account with an invalid owner',
  InvalidAddressLookupTableData: 'Transaction loads an address table account with invalid data',
  InvalidAddressLookupTableIndex: 'Transaction address table lookup uses an invalid index',
  InvalidRentPayingAccount:
    'Transaction leaves an account with a lower balance than rent-exempt minimum',
  InvalidWritableAccount: 'Transaction contains an invalid account reference',
  MaxLoadedAccountsDataSizeExceeded: 'Transaction exceeded max loaded accounts data size cap',
};

const INSTRUCTION_SENTENCES: Readonly<Record<string, string>> = {
  GenericError: 'generic instruction error',
  InvalidArgument: 'invalid program argument',
  InvalidInstructionData: 'invalid instruction data',
  InvalidAccountData: 'invalid account data for instruction',
  AccountDataTooSmall: 'account data too small for instruction',
  InsufficientFunds: 'insufficient funds for instruction',
  IncorrectProgramId: 'incorrect program id for instruction',
  MissingRequiredSignature: 'missing required signature for instruction',
  AccountAlreadyInitialized: 'instruction requires an uninitialized account',
  UninitializedAccount: 'instruction requires an initialized account',
  UnbalancedInstruction: 'sum of account balances before and after instruction do not match',
  ExternalAccountLamportSpend: 'instruction spent from the balance of an account it does not own',
  ExternalAccountDataModified: 'instruction modified data of an account it does not own',
  ReadonlyLamportChange: 'instruction changed the balance of a read-only account',
  ReadonlyDataModified: 'instruction modified data of a read-only account',
  NotEnoughAccountKeys: 'insufficient account keys for instruction',
  UnsupportedProgramId: 'Unsupported program id',
  CallDepth: 'Cross-program invocation call depth too deep',
  MissingAccount: 'An account required by the instruction is missing',
  InvalidSeeds: 'Provided seeds do not result in a valid address',
  ComputationalBudgetExceeded: 'Computational budget exceeded',
  PrivilegeEscalation: 'Cross-program invocation with unauthorized signer or writable account',
  ProgramFailedToComplete: 'Program failed to complete',
  Immutable: 'Account is immutable',
  IncorrectAuthority: 'Incorrect authority provided',
  InvalidAccountOwner: 'Invalid account owner',
  ArithmeticOverflow: 'Program arithmetic overflowed',
  IllegalOwner: 'Provided owner is not allowed',
};

/** Returns the sentence for a failure in a node's error messages. */
export function describeFailure(failure: Failure): string {
  if (typeof failure === 'string') return TRANSACTION_SENTENCES[failure] ?? failure;
  const [kind, detail] = variant(failure);
  if (kind === 'InstructionError' && isList(detail)) {
    const [index = null, error = null] = detail;
    return `Error processing Instruction ${encodeJson(index)}: ${describeInstruction(error)}`;
  }
  if (kind === 'InsufficientFundsForRent') {
    const [, account] = variant(detail); // { account_index }
    return `Transaction results in an account (${encodeJson(account)}) with insufficient funds for rent`;
  }
  return kind;
}

function describeInstruction(error: Json): string {
  if (typeof error === 'string') return INSTRUCTION_SENTENCES[error] ?? error;
  const [kind, detail] = variant(error);
  return kind === 'Custom' && typeof detail === 'number'
    ? `custom program error: 0x${detail.toString(16)}`
    : kind;
}
